// What a program in a container that was given a slice sees of the machine: that slice, and nothing else.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "acl/acl.h"
#include "acl/ops/acl_cblas.h"
#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

// Two 310P3 whose work takes milliseconds of model time, on a driver that is quick and says what it knows.
std::string machine_yaml(const char* seen_on_host = "true") {
  return std::string(R"(driver_version: "25.5.0"
compute: full
vnpu: {create_ms: 0, load_known_when_cut: true, memory_seen_on_host: )") +
         seen_on_host + R"(}
chips:
  310P3:
    soc_name: Ascend310P3
    board_id: 0x64
    pci_device_id: 0xD500
    ai_cores: 8
    vector_cores: 8
    ai_cpus: 7
    aicore_mhz: 1080
    hbm_mhz: 1600
    memory_mib: 21527
    memory_system_mib: 1805
    l2_mib: 16
    fp16_gflops: 800
    fp32_gflops: 80
    memory_mib_per_second: 1000
    host_mib_per_second: 1000
    launch_us: 5
npus:
  - {card: 7, chip: 310P3, pci: "0000:01:00.0"}
  - {card: 9, chip: 310P3, pci: "0000:02:00.0"}
)";
}

Status create(const SimulatedMachine& machine, std::uint32_t npu, const char* name,
              std::uint32_t* id = nullptr) {
  Connection connection = Connection::open(machine.socket_path());
  CreateVdevBody body{kAnyNumber, kAnyNumber, {}};
  std::strncpy(body.template_name, name, sizeof body.template_name - 1);
  CreateVdevReply reply{};
  const CallResult result = connection.call(RequestType::kCreateVdev, npu, body, &reply);
  if (id != nullptr) *id = reply.vdev_id;
  return result.connected ? result.status : Status::kLost;
}

Status destroy(const SimulatedMachine& machine, std::uint32_t npu, std::uint32_t id) {
  Connection connection = Connection::open(machine.socket_path());
  return connection.send(RequestType::kDestroyVdev, npu, DestroyVdevBody{id, 0}).status;
}

std::vector<VdevRecord> vdevs(const SimulatedMachine& machine, std::uint32_t npu) {
  Connection connection = Connection::open(machine.socket_path());
  VnpusReply reply{};
  std::vector<VdevRecord> records;
  const CallResult result = connection.call<Connection::NoBody, VnpusReply, VdevRecord>(
      RequestType::kVnpus, npu, {}, &reply, &records);
  EXPECT_TRUE(result.ok());
  return records;
}

// This process moves into a mount namespace whose /dev has nothing but the slice, under the name given.
void enter_container(const SimulatedMachine& machine, std::uint32_t id, const std::string& name) {
  const unsigned major = machine.node_major();
  ASSERT_EQ(unshare(CLONE_NEWNS), 0);
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    ASSERT_EQ(mount("none", "/dev", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  }
  ASSERT_EQ(mount("tmpfs", "/dev", "tmpfs", 0, "mode=755"), 0);
  ASSERT_EQ(mknod(("/dev/" + name).c_str(), S_IFCHR | 0666, makedev(major, id)), 0);
  // Without the capability that makes a container's root the host's.
  ASSERT_EQ(setuid(1000), 0);
}

std::uint32_t device_count() {
  std::uint32_t count = 0;
  aclrtGetDeviceCount(&count);
  return count;
}

std::size_t memory_total() {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), ACL_SUCCESS);
  return total;
}

// Without it a program would see the whole NPU, or the neighbour's slice, or none.
TEST(Slices, AProgramSeesExactlyItsSlice) {
  const SimulatedMachine machine(machine_yaml());
  std::uint32_t id = 0;
  ASSERT_EQ(create(machine, 1, "vir01", nullptr), Status::kOk);
  ASSERT_EQ(create(machine, 1, "vir02", &id), Status::kOk);
  EXPECT_EQ(id, 117U);
  struct stat node{};
  ASSERT_EQ(stat((machine.root() + "/dev/vdavinci117").c_str(), &node), 0);
  EXPECT_EQ(node.st_rdev, makedev(machine.node_major(), 117));
  for (const char* name : {"davinci117", "vdavinci117", "davinci0"}) {
    run_program(machine, [&machine, id, name] {
      enter_container(machine, id, name);
      EXPECT_EQ(device_count(), 1U) << name;
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << name;
      EXPECT_EQ(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
      EXPECT_EQ(memory_total(), 5381 * kMiB);
      std::int64_t cores = 0;
      EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &cores), ACL_SUCCESS);
      EXPECT_EQ(cores, 2);
      const MachineSnapshot inside = machine.snapshot();
      ASSERT_EQ(inside.npus.size(), 1U);
      EXPECT_STREQ(inside.npus[0].chip_name, "310Pvir02");
      EXPECT_EQ(inside.npus[0].card_id, 9U);
    });
  }
  EXPECT_EQ(machine.snapshot().npus.size(), 2U) << "the host sees its NPUs, and no slice as one";
}

// Without it a slice could hold more than its size, or keep what a dead program held.
TEST(Slices, MemoryEndsAtTheUsableSizeAndComesBack) {
  const SimulatedMachine machine(machine_yaml());
  std::uint32_t id = 0;
  ASSERT_EQ(create(machine, 0, "vir04", &id), Status::kOk);
  const Signal holding;
  Child program([&] {
    use_machine(machine);
    enter_container(machine, id, "davinci100");
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* six = nullptr;
    void* rest = nullptr;
    void* more = nullptr;
    ASSERT_EQ(aclrtMalloc(&six, 6144 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMalloc(&rest, 4700 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    EXPECT_EQ(aclrtMalloc(&rest, (10763 - 6144 - 4) * kMiB, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtMalloc(&more, 2 * kMiB, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
    ASSERT_EQ(aclrtFree(rest), ACL_SUCCESS);
    holding.raise();
    pause();
  });
  ASSERT_TRUE(holding.wait());
  ASSERT_EQ(vdevs(machine, 0).size(), 1U);
  EXPECT_LT(vdevs(machine, 0)[0].memory_bytes_free, (10763 - 6144) * kMiB);
  EXPECT_GE(machine.memory_used_by_programs(0), 6144 * kMiB) << "this driver shows it on the host, too";
  program.kill_hard();
  EXPECT_TRUE(eventually([&] { return vdevs(machine, 0)[0].memory_bytes_free > (10763 - 1000) * kMiB; }));
}

// Without it the figure of an old driver, which stands still, would be taken for idleness.
TEST(Slices, AnOldDriverShowsNoSliceMemoryOnTheHost) {
  const SimulatedMachine machine(machine_yaml("false"));
  std::uint32_t id = 0;
  ASSERT_EQ(create(machine, 0, "vir04", &id), Status::kOk);
  run_program(machine, [&] {
    enter_container(machine, id, "davinci100");
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* block = nullptr;
    ASSERT_EQ(aclrtMalloc(&block, 4096 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const MachineSnapshot inside = machine.snapshot();
    ASSERT_EQ(inside.npus.size(), 1U);
    EXPECT_GE(inside.npus[0].memory_bytes_used, 4096 * kMiB);
  });
  EXPECT_EQ(machine.memory_used_by_programs(0), 0U);
}

// Without it a slice in use could be destroyed, or an idle one kept, and a host's process would count as a
// container.
TEST(Slices, InUseFromTheFirstUseToTheEndOfTheContainer) {
  const SimulatedMachine machine(machine_yaml());
  std::uint32_t id = 0;
  ASSERT_EQ(create(machine, 0, "vir01", &id), Status::kOk);
  const Signal started;
  const Signal use;
  const Signal used;
  Child container([&] {
    use_machine(machine);
    enter_container(machine, id, "davinci100");
    started.raise();
    ASSERT_TRUE(use.wait());
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    used.raise();
    pause();
  });
  ASSERT_TRUE(started.wait());
  EXPECT_EQ(vdevs(machine, 0)[0].in_use, 0U) << "it runs, and has not touched the NPU";
  EXPECT_EQ(vdevs(machine, 0)[0].container_id, 0U);
  use.raise();
  ASSERT_TRUE(used.wait());
  EXPECT_TRUE(eventually([&] { return vdevs(machine, 0)[0].in_use == 1; }));
  EXPECT_EQ(vdevs(machine, 0)[0].container_id, 0xFFFFFFFFFFFFU);
  EXPECT_EQ(destroy(machine, 0, id), Status::kInvalid) << "in use, and told as a wrong parameter";
  container.kill_hard();
  EXPECT_TRUE(eventually([&] { return vdevs(machine, 0)[0].in_use == 0; }));
  EXPECT_EQ(destroy(machine, 0, id), Status::kOk);
  EXPECT_EQ(destroy(machine, 0, id), Status::kNoSuchVdev);
  EXPECT_NE(access((machine.root() + "/dev/vdavinci100").c_str(), F_OK), 0);
}

// Without it two containers could hold one slice.
TEST(Slices, ASecondContainerIsShutOutUnlessTheDeviceIsShared) {
  const SimulatedMachine machine(machine_yaml());
  std::uint32_t id = 0;
  ASSERT_EQ(create(machine, 0, "vir01", &id), Status::kOk);
  const Signal holding;
  const Child first([&] {
    use_machine(machine);
    enter_container(machine, id, "davinci100");
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    holding.raise();
    pause();
  });
  ASSERT_TRUE(holding.wait());
  run_program(machine, [&] {
    enter_container(machine, id, "davinci100");
    EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
  });
  Connection host = Connection::open(machine.socket_path());
  ASSERT_TRUE(host.send(RequestType::kSetSetting, 0, SettingBody{Setting::kDeviceShare, 1}).ok());
  run_program(machine, [&] {
    enter_container(machine, id, "davinci100");
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  });
}

// Without it a chip could be cut under a program, or used whole beside its slices.
TEST(Slices, WholeAndCutUseExcludeEachOther) {
  const SimulatedMachine machine(machine_yaml());
  const Signal holding;
  {
    const Child whole([&] {
      use_machine(machine);
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      holding.raise();
      pause();
    });
    ASSERT_TRUE(holding.wait());
    EXPECT_EQ(create(machine, 0, "vir01"), Status::kBusy);
  }
  EXPECT_TRUE(eventually([&] { return create(machine, 0, "vir01") == Status::kOk; }));
  run_program(machine, [] {
    EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS) << "the other chip is whole";
  });
}

// Without it a tenant could cut the chip it has a part of.
TEST(Slices, AContainerCannotCut) {
  const SimulatedMachine machine(machine_yaml());
  std::uint32_t id = 0;
  ASSERT_EQ(create(machine, 0, "vir01", &id), Status::kOk);
  run_program(machine, [&] {
    enter_container(machine, id, "davinci100");
    EXPECT_EQ(create(machine, 0, "vir01"), Status::kDenied);
    EXPECT_EQ(destroy(machine, 0, id), Status::kDenied);
  });
  EXPECT_EQ(vdevs(machine, 0).size(), 1U);
}

// Without it a slice would compute as fast as the whole chip.
TEST(Slices, ComputeGoesByCores) {
  const SimulatedMachine machine(machine_yaml());
  std::uint32_t quarter = 0;
  ASSERT_EQ(create(machine, 0, "vir02", &quarter), Status::kOk);
  const auto product_ns = [&](const std::function<void()>& enter) {
    std::uint64_t took = 0;
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    run_program(machine, [&] {
      enter();
      aclrtStream stream = nullptr;
      aclrtEvent before = nullptr;
      aclrtEvent after = nullptr;
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtCreateEvent(&before), ACL_SUCCESS);
      ASSERT_EQ(aclrtCreateEvent(&after), ACL_SUCCESS);
      void* block = nullptr;
      ASSERT_EQ(aclrtMalloc(&block, 64 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      ASSERT_EQ(aclrtRecordEvent(before, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtMemsetAsync(block, 64 * kMiB, 0, 64 * kMiB, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtRecordEvent(after, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
      float milliseconds = 0;
      ASSERT_EQ(aclrtEventElapsedTime(&milliseconds, before, after), ACL_SUCCESS);
      const auto ns = static_cast<std::uint64_t>(milliseconds * 1e6F);
      ASSERT_EQ(write(ends[1], &ns, sizeof ns), static_cast<ssize_t>(sizeof ns));
    });
    EXPECT_EQ(read(ends[0], &took, sizeof took), static_cast<ssize_t>(sizeof took));
    close(ends[0]);
    close(ends[1]);
    return static_cast<double>(took);
  };
  const double in_slice = product_ns([&] { enter_container(machine, quarter, "davinci100"); });
  ASSERT_EQ(destroy(machine, 0, quarter), Status::kOk);
  const double whole = product_ns([] {});
  EXPECT_NEAR(in_slice / whole, 4.0, 0.1);
}

// Three square matrices on the device, the factors of their product, and a stream.
struct Product {
  explicit Product(int n) : size(n) {
    const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    for (float*& matrix : matrices) matrix = memory(count);
    factors = memory(2);
    const float one_and_zero[] = {1, 0};
    EXPECT_EQ(aclrtMemcpy(factors, sizeof one_and_zero, one_and_zero, sizeof one_and_zero,
                          ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  }

  aclError multiply() const {
    return aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, size, size, size, factors, matrices[0], size,
                         ACL_FLOAT, matrices[1], size, ACL_FLOAT, factors + 1, matrices[2], size, ACL_FLOAT,
                         ACL_COMPUTE_HIGH_PRECISION, stream);
  }

  static float* memory(std::size_t count) {
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, count * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    return static_cast<float*>(block);
  }

  int size;
  float* matrices[3] = {};
  float* factors = nullptr;
  aclrtStream stream = nullptr;
};

// Without it work in a slice could come out wrong, or not show on the host at all.
TEST(Slices, WorkIsRightInsideAndSeenOutside) {
  const SimulatedMachine machine(machine_yaml());
  std::uint32_t id = 0;
  ASSERT_EQ(create(machine, 0, "vir04", &id), Status::kOk);
  run_program(machine, [&] {
    enter_container(machine, id, "davinci100");
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const Product product(2);
    const float a[] = {1, 2, 3, 4};
    const float b[] = {5, 6, 7, 8};
    ASSERT_EQ(aclrtMemcpy(product.matrices[0], sizeof a, a, sizeof a, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
    ASSERT_EQ(aclrtMemcpy(product.matrices[1], sizeof b, b, sizeof b, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
    ASSERT_EQ(product.multiply(), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(product.stream), ACL_SUCCESS);
    float c[4] = {};
    ASSERT_EQ(aclrtMemcpy(c, sizeof c, product.matrices[2], sizeof c, ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    EXPECT_EQ(c[0], 19);
    EXPECT_EQ(c[1], 22);
    EXPECT_EQ(c[2], 43);
    EXPECT_EQ(c[3], 50);
  });
  const Child busy([&] {
    setenv("ASCENDSIM_COMPUTE", "none", 1);
    use_machine(machine);
    enter_container(machine, id, "davinci100");
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const Product product(1024);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(product.multiply(), ACL_SUCCESS);
    aclrtSynchronizeStream(product.stream);
    pause();
  });
  EXPECT_TRUE(eventually([&] { return machine.snapshot().npus[0].aicore_percent >= 20; }));
  EXPECT_LE(machine.snapshot().npus[0].aicore_percent, 50U) << "half of the cores are in the slice";
}

// Without it a power cut would leave nothing of what the recover file remembers, or make what it should not.
TEST(Slices, ABootMakesThemAgainFromTheFile) {
  SimulatedMachine machine(machine_yaml());
  machine.kill_hard();
  const std::string path = machine.root() + "/etc/vnpu.cfg";
  const auto write_file = [&path](const char* mode) {
    std::ofstream(path) << "vnpu_config_recover:" << mode << "\n[vnpu-config start]\n"
                        << "0:103:npu-smi set -t create-vnpu -i 7 -c 0 -f vir02 -v 103 -g 2\n"
                        << "0:104:npu-smi set -t create-vnpu -i 7 -c 0 -f vir16 -v 104\n"
                        << "9:250:npu-smi set -t create-vnpu -i 3 -c 0 -f vir01 -v 250\n"
                        << "[vnpu-config end]\n";
  };
  write_file("enable");
  machine.start();
  ASSERT_EQ(vdevs(machine, 0).size(), 1U) << "what does not fit is left out";
  EXPECT_EQ(vdevs(machine, 0)[0].vdev_id, 103U);
  EXPECT_EQ(vdevs(machine, 0)[0].vgroup, 2U);
  EXPECT_EQ(access((machine.root() + "/dev/vdavinci103").c_str(), F_OK), 0);
  machine.kill_hard();
  write_file("disable");
  machine.start();
  EXPECT_TRUE(vdevs(machine, 0).empty());
  EXPECT_NE(access((machine.root() + "/dev/vdavinci103").c_str(), F_OK), 0) << "a node of the boot before";
  machine.kill_hard();
  std::ofstream(path) << "nonsense\n";
  machine.start();
  EXPECT_TRUE(vdevs(machine, 0).empty());
}

}  // namespace
}  // namespace ascendsim

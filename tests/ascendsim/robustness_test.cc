#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>

#include "acl/acl.h"
#include "acl/ops/acl_cblas.h"
#include "ascendsim/protocol/ring.h"
#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

constexpr std::size_t kMiB = 1U << 20;

// A product that takes seconds of model time on the slow machine and none of ours.
void launch_long_product(aclrtStream stream) {
  void* data = nullptr;
  ASSERT_EQ(aclrtMalloc(&data, 4096UL * 4096 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 4096, 4096, 4096, data, data, -1, ACL_FLOAT,
                          data, -1, ACL_FLOAT, data, data, -1, ACL_FLOAT, ACL_COMPUTE_HIGH_PRECISION, stream),
            ACL_SUCCESS);
}

// Without this, memory of a killed program would stay lost, for ever if a child of it lives on with its
// socket.
TEST(Robustness, AKilledProgramGivesItsMemoryBackAtOnce) {
  const SimulatedMachine machine;
  const Signal holding;
  const Signal over;
  Child program([&] {
    use_machine(machine);
    ASSERT_EQ(aclrtSetDevice(3), ACL_SUCCESS);
    void* pointer = nullptr;
    ASSERT_EQ(aclrtMalloc(&pointer, 8192 * kMiB - 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    // Not fork(): its handlers would close the child's copy of the socket.
    if (syscall(SYS_fork) == 0) {
      over.wait();
      _exit(0);
    }
    holding.raise();
    pause();
  });
  ASSERT_TRUE(holding.wait());
  EXPECT_EQ(machine.memory_used_by_programs(3), 8192 * kMiB);
  program.kill_hard();
  EXPECT_TRUE(eventually([&] { return machine.memory_used_by_programs(3) == 0; }, std::chrono::seconds(1)));
  over.raise();
}

// Without this, who holds an NPU and how much would be anybody's guess for npu-smi and the product.
TEST(Robustness, ProcessesAreListedWithTheirMemory) {
  const SimulatedMachine machine;
  const Signal holding;
  const Child program([&] {
    use_machine(machine);
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    void* pointer = nullptr;
    ASSERT_EQ(aclrtMallocAlign32(&pointer, 64 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    holding.raise();
    pause();
  });
  ASSERT_TRUE(holding.wait());
  Connection connection = Connection::open(machine.socket_path());
  std::vector<ProcessRecord> processes;
  ASSERT_TRUE(query_processes(connection, 1, &processes).ok());
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_EQ(processes[0].host_pid, program.pid());
  EXPECT_EQ(processes[0].bytes, 64 * kMiB);
  EXPECT_STREQ(processes[0].name, "test_ascendsim");
  ASSERT_TRUE(query_processes(connection, 0, &processes).ok());
  EXPECT_TRUE(processes.empty());
  EXPECT_EQ(query_processes(connection, 8, &processes).status, Status::kNoSuchNpu);
  const MachineSnapshot snapshot = machine.snapshot();
  EXPECT_EQ(snapshot.npus[1].process_count, 1U);
  EXPECT_EQ(snapshot.machine.in_container, 0U);
}

// Without this, programs would hang when the driver dies, and a restarted machine would be useless.
TEST(Robustness, WhenTheDriverDiesWaitsEndAndARestartIsAFreshMachine) {
  SimulatedMachine machine(slow_machine_yaml());
  const Signal waiting;
  Child program([&] {
    use_machine(machine);
    setenv("ASCENDSIM_COMPUTE", "none", 1);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    launch_long_product(stream);
    waiting.raise();
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_LOST_HEARTBEAT);
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMalloc(&pointer, 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_LOST_HEARTBEAT);
    EXPECT_NE(aclrtSetDevice(1), ACL_SUCCESS) << "this process lost its driver";
  });
  ASSERT_TRUE(waiting.wait());
  machine.kill_hard();
  const auto killed = std::chrono::steady_clock::now();
  EXPECT_EQ(program.join(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(30))
      << "the product alone takes 68 s";
  machine.start();
  EXPECT_EQ(machine.memory_used_by_programs(0), 0U);
  run_program(machine, [] { EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS); });
  EXPECT_EQ(machine.stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(machine.socket_path()));
}

// Without this, two drivers would own one machine.
TEST(Robustness, OneDriverPerRoot) {
  const SimulatedMachine machine;
  const CommandResult second = run_command(ASCENDSIMD " --root " + machine.root());
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.output.find("another ascendsimd already runs on this root"), std::string::npos)
      << second.output;
  EXPECT_EQ(machine.snapshot().npus.size(), 8U);
}

// Without this, parent and child would talk into one connection, and the child would use its parent's device.
TEST(Robustness, AForkedChildStartsWithoutADevice) {
  const SimulatedMachine machine;
  run_program(machine, [&machine] {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* pointer = nullptr;
    ASSERT_EQ(aclrtMallocAlign32(&pointer, 2 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    Child child([&] {
      std::int32_t device = 0;
      EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
      EXPECT_EQ(aclrtFree(pointer), ACL_ERROR_RT_PARAM_INVALID);
      EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
      EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
      void* own = nullptr;
      EXPECT_EQ(aclrtMallocAlign32(&own, 4 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      EXPECT_EQ(machine.memory_used_by_programs(1), 4 * kMiB);
    });
    EXPECT_EQ(child.join(), 0);
    EXPECT_TRUE(eventually([&] { return machine.memory_used_by_programs(1) == 0; }));
    EXPECT_EQ(machine.memory_used_by_programs(0), 2 * kMiB) << "the child's end is not the parent's";
    EXPECT_EQ(aclrtMemset(pointer, 100, 1, 100), ACL_SUCCESS);
  });
}

// Without this, a card that drops off the bus could not be told from one that works.
TEST(Robustness, AnNpuThatVanishesFailsItsWork) {
  const SimulatedMachine machine(slow_machine_yaml());
  const std::string ctl = ASCENDSIM_CTL " --root " + machine.root();
  const Signal waiting;
  Child program([&] {
    use_machine(machine);
    setenv("ASCENDSIM_COMPUTE", "none", 1);
    ASSERT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
    launch_long_product(nullptr);
    waiting.raise();
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_LOST_HEARTBEAT);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << "another device of the same program";
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_NORMAL;
    EXPECT_EQ(aclrtQueryDeviceStatus(2, &status), ACL_SUCCESS);
    EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_ABNORMAL);
  });
  ASSERT_TRUE(waiting.wait());
  EXPECT_EQ(run_command(ctl + " remove 2").status, 0);
  EXPECT_EQ(program.join(), 0);
  EXPECT_EQ(machine.snapshot().npus[2].health, Health::kAbsent);
  run_program(machine, [] { EXPECT_EQ(aclrtSetDevice(2), ACL_ERROR_RT_LOST_HEARTBEAT); });
  EXPECT_EQ(run_command(ctl + " return 2").status, 0);
  run_program(machine, [] {
    EXPECT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  });
  EXPECT_EQ(run_command(ctl + " health 1 critical").status, 0);
  EXPECT_EQ(machine.snapshot().npus[1].health, Health::kCritical);
  EXPECT_EQ(run_command(ctl + " health 1 poorly").status, 2);
  EXPECT_EQ(run_command(ctl + " health 4 ok").status, 2);
  const CommandResult tenant =
      run_command("setpriv --reuid 65534 --regid 65534 --clear-groups " + ctl + " health 1 ok");
  EXPECT_NE(tenant.status, 0);
  EXPECT_NE(tenant.output.find("only root"), std::string::npos) << tenant.output;
  EXPECT_EQ(machine.snapshot().npus[1].health, Health::kCritical);
}

int raw_connection(const SimulatedMachine& machine) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  machine.socket_path().copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// Without this, one tenant's garbage could take the driver away from all.
TEST(Robustness, HostileBytesHurtOnlyTheirSender) {
  const SimulatedMachine machine;
  std::minstd_rand random(7);
  std::vector<unsigned char> packet(8192);
  for (int round = 0; round < 300; ++round) {
    const int fd = raw_connection(machine);
    for (auto& byte : packet) byte = static_cast<unsigned char>(random());
    const bool plausible = round % 2 == 0;
    std::size_t size = random() % packet.size() + 1;
    if (plausible) {
      // A right header with any type, NPU and body: must be answered or refused, never crash.
      const RequestHeader header{kMagic, kProtocolVersion, static_cast<RequestType>(random() % 24),
                                 static_cast<std::uint32_t>(random() % 16)};
      std::memcpy(packet.data(), &header, sizeof header);
      const auto small = static_cast<std::uint32_t>(random() % 8);  // so that some bodies mean something
      std::memcpy(packet.data() + sizeof header, &small, sizeof small);
      size = sizeof header + random() % 7 * 8;
    }
    EXPECT_EQ(send(fd, packet.data(), size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    if (round % 3 == 0) {
      unsigned char answer[256];
      timeval limit{2, 0};
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      EXPECT_TRUE(recv(fd, answer, sizeof answer, 0) >= 0 || errno == ECONNRESET)
          << "neither answered nor dropped";
    }
    close(fd);
  }
  EXPECT_EQ(machine.snapshot().npus.size(), 8U);
  for (std::size_t npu = 0; npu < 8; ++npu) EXPECT_EQ(machine.memory_used_by_programs(npu), 0U);
}

// Without this, a program could break the driver through the memory that both share.
TEST(Robustness, HostileRingsHurtOnlyTheirOwner) {
  const SimulatedMachine machine;
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    Connection connection = Connection::open(machine.socket_path());
    AttachReply reply{};
    std::vector<Descriptor> descriptors;
    const CallResult attached = connection.call<Connection::NoBody, AttachReply, Connection::NoBody>(
        RequestType::kAttach, 0, {}, &reply, nullptr, &descriptors);
    ASSERT_TRUE(attached.ok());
    ASSERT_EQ(descriptors.size(), 2U);
    EXPECT_EQ(ftruncate(descriptors[0].get(), 0), -1) << "shrinking it would kill the driver";
    auto* rings = static_cast<SharedRings*>(
        mmap(nullptr, sizeof(SharedRings), PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[0].get(), 0));
    ASSERT_NE(rings, MAP_FAILED);
    OpenDeviceReply open{};
    ASSERT_TRUE(connection.call(RequestType::kOpenDevice, 0, Connection::NoBody{}, &open).ok());
    CreateStreamReply stream{};
    ASSERT_TRUE(connection.call(RequestType::kCreateStream, 0, CreateStreamBody{3, 0}, &stream).ok());
    for (std::uint64_t i = 0; i < 100; ++i) {
      TaskEntry entry{};
      for (std::size_t word = 0; word < 8; ++word) {
        const std::uint64_t value = random();
        std::memcpy(reinterpret_cast<unsigned char*>(&entry) + word * 8, &value, 8);
      }
      if (round % 3 != 0) {
        entry.task = i + 1;
        entry.stream = stream.stream;
        entry.kind = static_cast<TaskKind>(random() % 10);
      }
      rings->tasks.entries[i] = entry;
    }
    rings->notices.read = random();
    rings->tasks.written = round % 4 == 0 ? random() : 100;
    send(descriptors[1].get(), "!", 1, MSG_NOSIGNAL);
    // Whatever it did with that, it goes on for others.
    if (round % 10 == 0) {
      EXPECT_EQ(machine.snapshot().npus.size(), 8U);
    }
    munmap(rings, sizeof(SharedRings));
  }
  EXPECT_TRUE(eventually([&] { return machine.snapshot().npus[0].process_count == 0; }));
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* pointer = nullptr;
    ASSERT_EQ(aclrtMalloc(&pointer, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(pointer, 100, 1, 100), ACL_SUCCESS);
  });
}

// Without this, a tenant could take all connections and keep everybody else out.
TEST(Robustness, OneUserCannotTakeAllConnections) {
  const SimulatedMachine machine;
  Child tenant([&machine] {
    ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
    std::vector<Connection> connections;
    int served = 0;
    for (int i = 0; i < 400; ++i) {
      connections.push_back(Connection::open(machine.socket_path()));
      MachineSnapshot snapshot;
      if (query_machine(connections.back(), &snapshot).ok()) ++served;
    }
    EXPECT_GE(served, 100);
    EXPECT_LT(served, 300);
  });
  EXPECT_EQ(tenant.join(), 0);
  EXPECT_EQ(machine.snapshot().npus.size(), 8U);
}

}  // namespace
}  // namespace ascendsim

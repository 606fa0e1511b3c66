// What a job in a slice finds: the real runner, the real way to the devices, and a machine with one 310P3
// under an old driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>

#include "ascendsim_dcmi/simulated_machine.h"
#include "device/dcmi_devices.h"
#include "runner_fixture.h"
#include "service/environment.h"
#include "slices/machine_file.h"

namespace tangram::test {
namespace {

using runner::wait_until;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class InsideSlices : public runner::RunnerTest {
 protected:
  void SetUp() override {
    RunnerTest::SetUp();
    if (IsSkipped()) return;
    machine_ = std::make_unique<SimulatedMachine>(machine_file("one-310p3.yaml"));
    std::filesystem::permissions(machine_->root(), std::filesystem::perms(0755));
    device::DcmiOptions options;
    options.helper_path = HELPER_PATH;
    options.library_path = machine_->library();
    options.call_deadline = std::chrono::seconds(10);  // a loaded host is no hang
    options.scan_budget = options.command_deadline = std::chrono::seconds(30);
    devices_ = device::make_dcmi_devices(options);
    programs_ = root_ + "/programs";
    std::filesystem::create_directory(programs_);
    std::filesystem::copy_file(GEMM, programs_ + "/gemm");
    std::filesystem::copy_file(SLICE_TENANT, programs_ + "/slice_tenant");
    executor_.reset();
    events_ = std::make_unique<runner::Events>();
    runner::ProcessExecutorConfig with_slices = config();
    with_slices.device_dir = machine_->root() + "/dev";
    const std::string driver = machine_->root() + "/driver";
    with_slices.mounts = {{driver, driver, true}, {programs_, programs_, true}};
    executor_ = runner::make_process_executor(with_slices);
    const Result<void> started = executor_->start(events_->sink());
    ASSERT_TRUE(started) << started.error().to_string();
  }

  void TearDown() override {
    RunnerTest::TearDown();
    if (!left_.empty()) std::filesystem::remove_all(left_);
  }

  LaunchSlice cut(const std::string& name, std::uint32_t id) {
    const auto slice = devices_->create_slice({0, name, id});
    EXPECT_TRUE(slice) << name << ": " << slice.error().to_string();
    return {0, id, name};
  }

  // `sh -c script` in the slice, with what a tenant wishes of its environment.
  LaunchSpec in_slice(const std::string& job, const LaunchSlice& slice, const std::string& script,
                      std::map<std::string, std::string> env = {}) const {
    LaunchSpec spec = shell(job, "exec 2>&1; " + script);
    spec.slice = slice;
    const std::string driver = machine_->root() + "/driver";
    env["PATH"] = programs_ + ":" + driver + "/tools:/usr/bin:/bin";
    env["LD_LIBRARY_PATH"] = driver + "/lib64";
    service::tell_devices(spec, executor_->gives_private_devices(), env);
    spec.env.assign(env.begin(), env.end());
    return spec;
  }

  std::string log_after(const LaunchSpec& spec) {
    const AttemptExit record = run_to_end(spec);
    const std::string log = log_of(spec.key);
    EXPECT_EQ(record.outcome, Outcome::kSucceeded) << record.message << "\n" << log;
    return log;
  }

  DeviceNpu npu() {
    const auto seen = devices_->scan();
    EXPECT_TRUE(seen) << seen.error().to_string();
    return seen && !seen->npus.empty() ? seen->npus.front() : DeviceNpu();
  }

  // A process of the job that waits for a file of that name may go on.
  void say(const AttemptKey& key, const std::string& word) const {
    std::ofstream(work_dir(key) + "/" + word) << "";
  }
  bool heard(const AttemptKey& key, const std::string& word) const {
    return wait_until([&] { return access((work_dir(key) + "/" + word).c_str(), F_OK) == 0; });
  }

  std::unique_ptr<SimulatedMachine> machine_;
  std::unique_ptr<Devices> devices_;
  std::string programs_;
  std::string left_;
};

// "1805 / 21527" of the row of the chip in `npu-smi info`: used and total MB.
std::pair<int, int> memory_of(const std::string& table) {
  static const std::regex row(R"(\| 0 +0 +\|[^|]*\| +\d+ +(\d+) */ *(\d+) *\|)");
  std::smatch found;
  if (!std::regex_search(table, found, row)) return {-1, -1};
  return {std::stoi(found[1]), std::stoi(found[2])};
}

// Without it a program in a slice would count on a whole NPU, and fail where its slice ends.
TEST_F(InsideSlices, AProgramSeesItsSliceAlone) {
  struct Template {
    const char* name;
    int memory_mib;
    int cores;
  };
  std::uint32_t id = 100;
  for (const Template& wanted :
       {Template{"vir01", 2690, 1}, Template{"vir02", 5381, 2}, Template{"vir04", 10763, 4}}) {
    const LaunchSlice slice = cut(wanted.name, id++);
    const std::string name = wanted.name;
    const LaunchSpec spec =
        in_slice("j-" + name, slice,
                 "ls /dev | grep davinci; env | grep ^ASCEND | sort; slice_tenant see; npu-smi info",
                 {{"ASCEND_VNPU_SPECS", "vir16"}, {"ASCEND_VISIBLE_DEVICES", "0-7"}});
    const std::string log = log_after(spec);
    const std::string memory = std::to_string(wanted.memory_mib);
    EXPECT_THAT(
        log, testing::StartsWith("davinci" + std::to_string(slice.id) +
                                 "\ndavinci_manager\n"
                                 "ASCEND_RT_VISIBLE_DEVICES=0\nASCEND_VISIBLE_DEVICES=0\nASCEND_VNPU_SPECS=" +
                                 name + "\nAscendCL devices 1\n"));
    EXPECT_THAT(log, AllOf(HasSubstr("AscendCL memory " + memory + " MiB\n"),
                           HasSubstr("AscendCL AI cores " + std::to_string(wanted.cores) + "\n"),
                           HasSubstr("DCMI cards 1\nDCMI devices 1\nDCMI chip 310P" + name + "\n")));
    EXPECT_THAT(log, Not(HasSubstr("AscendCL device 1: 0")));
    EXPECT_THAT(log, HasSubstr("310P" + name));
    EXPECT_EQ(memory_of(log).second, wanted.memory_mib) << log;
  }
}

// Without it a tenant could not tell how much of its slice it uses, or would see the use of others.
TEST_F(InsideSlices, MemoryIsSeenInsideWhileItIsHeld) {
  const LaunchSlice mine = cut("vir04", 100);
  const LaunchSlice other = cut("vir02", 101);
  const LaunchSpec holder =
      in_slice("j-1", mine,
               "npu-smi info; gemm --memory 6GiB --hold 3600 > gemm.log & pid=$!; "
               "until grep -q holding gemm.log; do sleep 0.05; done; npu-smi info > during; touch held; "
               "until [ -e stop ]; do sleep 0.05; done; cat during; kill $pid; wait; npu-smi info");
  const AttemptKey key = run(holder);
  ASSERT_TRUE(heard(key, "held"));
  const std::string beside = log_after(in_slice("j-2", other, "npu-smi info"));
  say(key, "stop");
  EXPECT_EQ(events_->wait_exit(key).outcome, Outcome::kSucceeded);
  const std::string log = log_of(key);
  std::vector<std::pair<int, int>> readings;
  std::size_t at = 0;
  while ((at = log.find("npu-smi 22", at)) != std::string::npos)
    readings.push_back(memory_of(log.substr(at++)));
  ASSERT_EQ(readings.size(), 3U) << log;
  const int idle = 902;  // what the device's own system takes of it
  EXPECT_EQ(readings[0], std::pair(idle, 10763)) << log;
  EXPECT_GE(readings[1].first, 6144) << log;
  EXPECT_LE(readings[1].first, 6144 + idle + 64) << log;
  EXPECT_EQ(readings[2], std::pair(idle, 10763)) << log;
  EXPECT_EQ(memory_of(beside), std::pair(451, 5381)) << beside;
  EXPECT_THAT(beside, Not(HasSubstr("gemm")));
}

// Without it work in a slice could come out wrong, or an operator take a busy NPU for an idle one.
TEST_F(InsideSlices, ProductsAreRightInsideAndShowOnTheHost) {
  const LaunchSlice slice = cut("vir04", 100);
  EXPECT_THAT(log_after(in_slice("j-1", slice,
                                 "gemm --memory 6GiB --size 96 --repeat 3 && gemm --size 96 --type fp32")),
              AllOf(HasSubstr("Ascend310P3, 10763 of 10763 MiB free"), HasSubstr("gemm: holding 6144 MiB"),
                    HasSubstr("gemm: OK max error"), Not(HasSubstr("WRONG"))));
  // Time on the device is arithmetic: without results it is the same.
  const LaunchSpec busy = in_slice("j-2", slice, "gemm --size 2048 --repeat 1000000 --no-verify",
                                   {{"ASCENDSIM_COMPUTE", "none"}});
  const AttemptKey key = run(busy);
  EXPECT_TRUE(wait_until([this] {
    const DeviceNpu seen = npu();
    return seen.ai_core_percent.valid && seen.ai_core_percent.value > 0;
  })) << log_of(key);
  EXPECT_LE(npu().ai_core_percent.value, 50) << "half of the cores are in the slice";
  const std::string table = machine_->npu_smi({"info"}).output;
  EXPECT_FALSE(std::regex_search(table, std::regex(R"(0000:00:07\.0 +\| 0 )"))) << table;
  ASSERT_TRUE(executor_->stop(key, StopReason::kCancelled));
  events_->wait_exit(key);
}

// Without it two tenants on one NPU would find each other's programs, devices and memory.
TEST_F(InsideSlices, TwoJobsOnOneNpuDoNotSeeEachOther) {
  const LaunchSlice slices[] = {cut("vir01", 100), cut("vir01", 101)};
  const std::string script =
      "gemm --memory 1GiB --hold 3600 > gemm.log & pid=$!; until grep -q holding gemm.log; do sleep 0.05; "
      "done; "
      "touch held; "
      "until [ -e go ]; do sleep 0.05; done; slice_tenant see; ls /dev | grep -c 'davinci1'; "
      "ls /proc | grep -c '^[0-9]'; npu-smi info; npu-smi info -t info-vnpu -i 7 -c 0; npu-smi info -t "
      "proc-mem -i 7 -c 0";
  LaunchSpec first = in_slice("j-1", slices[0], script);
  LaunchSpec second = in_slice("j-2", slices[1], script);
  second.uid = second.gid = kBob;
  for (const LaunchSpec* spec : {&first, &second}) ASSERT_TRUE(heard(run(*spec), "held"));
  std::set<std::string> processes;
  for (const LaunchSpec* spec : {&first, &second}) {
    say(spec->key, "go");
    events_->wait_exit(spec->key);
    const std::string log = log_of(spec->key);
    EXPECT_THAT(log, AllOf(HasSubstr("AscendCL devices 1\n"), HasSubstr("AscendCL memory 2690 MiB"))) << log;
    EXPECT_LT(memory_of(log).first, 2048) << log;
    EXPECT_GE(memory_of(log).first, 1024) << log;
    EXPECT_THAT(log, Not(HasSubstr("davinci" + std::to_string(201 - spec->slice->id)))) << log;
    static const std::regex process_line("Process id:([0-9]+)");
    const std::sregex_iterator first_process(log.begin(), log.end(), process_line);
    ASSERT_EQ(std::distance(first_process, std::sregex_iterator()), 1) << log;
    EXPECT_TRUE(processes.insert((*first_process)[1]).second) << log;
  }
}

// Without it a tenant could reach beyond the part of an NPU that it was given, or cut that NPU as it likes.
TEST_F(InsideSlices, AHostileTenantGetsNoFurther) {
  const LaunchSlice own = cut("vir02", 100);
  const LaunchSlice sibling = cut("vir02", 101);
  char path[] = "/var/lib/tangram-left-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  left_ = path;
  ASSERT_EQ(chmod(path, 0755), 0);
  struct stat manager{};
  ASSERT_EQ(stat((machine_->root() + "/dev/davinci_manager").c_str(), &manager), 0);
  const unsigned driver = major(manager.st_rdev);
  const std::pair<const char*, unsigned> nodes[] = {{"whole", 0}, {"sibling", 101}, {"unknown", 4003}};
  for (const auto& [name, number] : nodes) {
    const std::string node = left_ + "/" + name;
    ASSERT_EQ(mknod(node.c_str(), S_IFCHR | 0666, makedev(driver, number)), 0);
    ASSERT_EQ(chmod(node.c_str(), 0666), 0);
  }
  LaunchSpec victim = in_slice(
      "j-1", sibling,
      "gemm --memory 1GiB --hold 3600 > gemm.log & pid=$!; until grep -q holding gemm.log; do sleep 0.05; "
      "done; touch held; until [ -e go ]; do sleep 0.05; done; kill $pid; wait; slice_tenant see");
  victim.uid = victim.gid = kBob;
  ASSERT_TRUE(heard(run(victim), "held"));
  const std::string attack =
      "slice_tenant attack 100 101 " + machine_->socket() + " " + left_ + "; slice_tenant see";
  const std::string refused =
      "open /dev/davinci100: No such device or address\n"  // allowed: there is no driver behind its number
      "open /dev/davinci0: No such file or directory\n"
      "open /dev/davinci101: No such file or directory\n"
      "open /dev/vdavinci101: No such file or directory\n"
      "mknod whole: Operation not permitted\n"
      "mknod sibling: Operation not permitted\n"
      "open 3 nodes left lying about: 0 opened or allowed\n"
      "create vir01: -8002\ncreate vir04: -8002\n"
      "destroy own: -8002\ndestroy sibling: -8002\ndestroy all: -8002\n"
      "device-share: -8002\nvnpu-mode: -8002\n"
      "recover: -8014\n"  // the file of that is not in its view
      "reset: -8002\n"
      "driver: 1 opened, 0 changed\n"
      "AscendCL devices 1\n";
  const std::string plain = log_after(in_slice("j-2", own, attack));
  EXPECT_THAT(plain, AllOf(testing::StartsWith(refused), HasSubstr("AscendCL memory 5381 MiB")));
  const LaunchSpec as_root = in_slice("j-3", own, "unshare -Urm sh -c '" + attack + "'");
  run_to_end(as_root);
  const std::string nested = log_of(as_root.key);
  // The kernel gives no user namespace in a chroot; then there is one way less.
  if (!nested.starts_with("unshare:")) {
    EXPECT_THAT(nested, AllOf(testing::StartsWith(refused), HasSubstr("AscendCL memory 5381 MiB")));
  }
  const DeviceSlicing left = npu().slicing;
  ASSERT_EQ(left.slices.value.size(), 2U);
  EXPECT_FALSE(left.device_share.value);
  say(victim.key, "go");
  EXPECT_EQ(events_->wait_exit(victim.key).outcome, Outcome::kSucceeded) << log_of(victim.key);
  EXPECT_THAT(log_of(victim.key), HasSubstr("AscendCL memory 5381 MiB"));
}

}  // namespace
}  // namespace tangram::test

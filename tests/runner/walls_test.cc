#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "runner/attempt_dir.h"
#include "runner/control.h"
#include "runner_fixture.h"

namespace tangram::runner {
namespace {

// A character device major that no driver has, as the simulated machine uses.
unsigned unused_major() {
  const std::string devices = read_file("/proc/devices").value();
  const std::string characters = devices.substr(0, devices.find("Block"));
  for (unsigned candidate = 254; candidate > 200; --candidate) {
    if (characters.find("\n" + std::to_string(candidate) + " ") == std::string::npos) return candidate;
  }
  return 0;
}

class WallsTest : public RunnerTest {
 protected:
  void SetUp() override {
    RunnerTest::SetUp();
    if (IsSkipped()) return;
    char path[] = "/var/lib/tangram-devices-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    devices_ = path;
    ASSERT_EQ(chmod(path, 0755), 0);
    major_ = unused_major();
    for (unsigned npu = 0; npu < 4; ++npu) make_node("davinci" + std::to_string(npu), npu);
    make_node("vdavinci116", 116);
    make_node("vdavinci117", 117);
    make_node("davinci_manager", 64);
    executor_.reset();
    events_ = std::make_unique<Events>();
    ProcessExecutorConfig with_devices = config();
    with_devices.device_dir = devices_;
    executor_ = make_process_executor(with_devices);
    ASSERT_TRUE(executor_->start(events_->sink()));
  }
  void TearDown() override {
    RunnerTest::TearDown();
    if (devices_.empty()) return;
    std::filesystem::remove_all(devices_);
    std::filesystem::remove_all(devices_ + "-forgotten");
  }

  void make_node(const std::string& name, unsigned number) const {
    make_node_at(devices_ + "/" + name, number);
  }
  void make_node_at(const std::string& path, unsigned number) const {
    ASSERT_EQ(mknod(path.c_str(), S_IFCHR | 0666, makedev(major_, number)), 0);
    ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  }

  LaunchSpec bob(const std::string& job, const std::string& script) const {
    LaunchSpec spec = shell(job, script);
    spec.tenant = "bob";
    spec.uid = spec.gid = kBob;
    return spec;
  }

  // A job of Alice's that has something to hide, and the id its main process has on the host.
  pid_t start_victim(const AttemptKey& key) {
    LaunchSpec spec =
        shell(key.job,
              "echo secret > file; chmod 644 file; echo secret > /tmp/alice; echo secret > /dev/shm/alice;"
              " echo secret; touch up; exec sleep 300");
    spec.env.emplace_back("TOKEN", "secret");
    run(spec);
    EXPECT_TRUE(wait_until([&] { return access((work_dir(key) + "/up").c_str(), F_OK) == 0; }));
    EXPECT_TRUE(wait_until([&] { return job_processes().size() == 1; }));
    const std::vector<pid_t> processes = job_processes();
    return processes.empty() ? -1 : processes.front();
  }

  std::string devices_;
  unsigned major_ = 0;
};

// Without this, a job would see what another tenant's job is doing, and could end or read it.
TEST_F(WallsTest, JobsOfTwoTenantsDoNotSeeEachOther) {
  const AttemptKey alice{"j-1", 1};
  const pid_t victim = start_victim(alice);
  ASSERT_GT(victim, 0);
  const std::string dir = attempt_dir(root_ + "/state", alice).path;
  const std::string script = "kill -9 " + std::to_string(victim) +
                             " || echo no-kill;"
                             " cat /proc/" +
                             std::to_string(victim) +
                             "/environ || echo no-environ;"
                             " cat " +
                             dir + "/work/file || echo no-file; cat " + dir +
                             "/log || echo no-log;"
                             " ls -A /tmp /dev/shm /var/tmp; ls -A " +
                             root_ +
                             "/state/jobs; ls /proc | grep -c '^[0-9]'; ipcs -m | grep -c 0x;"
                             " kill -9 1 || echo no-kill-init; kill -9 -1; exit 0";
  run_to_end(bob("j-2", script));
  const std::string log = log_of({"j-2", 1});
  for (const char* const expected :
       {"no-kill\n", "no-environ\n", "no-file\n", "no-log\n", "no-kill-init\n"}) {
    EXPECT_NE(log.find(expected), std::string::npos) << expected << "\n" << log;
  }
  EXPECT_EQ(log.find("secret"), std::string::npos) << log;
  EXPECT_EQ(log.find("alice"), std::string::npos) << log;
  EXPECT_EQ(kill(victim, 0), 0) << "the victim lives";
}

// Without this, a login of the other tenant on the host would get through, since it is in no job's
// namespaces.
TEST_F(WallsTest, AnotherTenantsUidOnTheHostGetsNowhere) {
  const AttemptKey alice{"j-1", 1};
  const pid_t victim = start_victim(alice);
  ASSERT_GT(victim, 0);
  const AttemptDir dir = attempt_dir(root_ + "/state", alice);
  const std::string environ_path = "/proc/" + std::to_string(victim) + "/environ";
  const pid_t supervisor = supervisors_.back();
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setresgid(kBob, kBob, kBob) != 0 || setresuid(kBob, kBob, kBob) != 0)
      _exit(1);
    if (kill(victim, SIGKILL) == 0 || kill(supervisor, SIGKILL) == 0) _exit(2);
    if (ptrace(PTRACE_SEIZE, victim, nullptr, nullptr) == 0) _exit(3);
    if (open(environ_path.c_str(), O_RDONLY) >= 0) _exit(4);
    if (open((dir.work() + "/file").c_str(), O_RDONLY) >= 0 || open(dir.log().c_str(), O_RDONLY) >= 0)
      _exit(5);
    if (open((dir.tmp() + "/alice").c_str(), O_RDONLY) >= 0 || open(dir.control().c_str(), O_PATH) < 0)
      _exit(6);
    if (open((root_ + "/state/jobs").c_str(), O_RDONLY) >= 0 || connect_to(dir.control())) _exit(7);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Without this, the tenant's own job could stop the supervisor that bounds it.
TEST_F(WallsTest, JobRunsWithoutAnyPrivilege) {
  const AttemptExit record = run_to_end(shell("j-1",
                                              "id -u; id -g; id -G; umask; ulimit -c; grep -E '^(Cap|NoNew)' "
                                              "/proc/self/status; readlink /proc/self/fd/0"));
  ASSERT_EQ(record.outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of({"j-1", 1}),
            "41001\n41001\n41001\n0077\n0\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
            "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:"
            "\t1\n/dev/null\n");
}

// Without this, descriptors of the daemon (its journal, its sockets) would be open in every job.
TEST_F(WallsTest, JobInheritsNoDescriptor) {
  const UniqueFd leaky(open("/etc/hostname", O_RDONLY));
  // The fourth is the directory that ls reads.
  ASSERT_EQ(run_to_end(shell("j-1", "exec ls /proc/self/fd")).outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of({"j-1", 1}), "0\n1\n2\n3\n");
}

// Without this, a job would find the nodes of other tenants' NPUs in /dev.
TEST_F(WallsTest, DevHoldsOnlyTheJobsOwnDevices) {
  LaunchSpec spec =
      shell("j-1", "ls /dev | tr '\\n' ' '; echo x > /dev/null; head -c 1 /dev/urandom | wc -c");
  spec.npus = {1, 3};
  ASSERT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of(spec.key),
            "davinci1 davinci3 davinci_manager fd full null ptmx pts random shm stderr stdin stdout tty "
            "urandom zero 1\n");
}

// Without this, a job that was given a part of an NPU would find the whole of it, or the part of its
// neighbour.
TEST_F(WallsTest, OfASlicedNpuTheJobFindsItsSliceAlone) {
  LaunchSpec spec = shell("j-1", "");
  spec.slice = {1, 116, "vir02"};
  spec.env.emplace_back("ASCEND_VNPU_SPECS", "vir02");
  const std::string forgotten = devices_ + "-forgotten";
  ASSERT_EQ(mkdir(forgotten.c_str(), 0755), 0);
  ASSERT_EQ(chmod(forgotten.c_str(), 0755), 0);
  make_node_at(forgotten + "/sibling", 117);
  make_node_at(forgotten + "/whole", 1);
  make_node_at(forgotten + "/own", 116);
  spec.argv = {"sh", "-c",
               "ls /dev | tr '\n' ' '; stat -c ' %t:%T %u %a' /dev/davinci116; env | grep -c VNPU; exec 2>&1;"
               "cat /dev/davinci116; cat " +
                   forgotten + "/own; cat " + forgotten + "/sibling; cat " + forgotten + "/whole; true"};
  ASSERT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  std::ostringstream number;
  number << std::hex << major_ << ":" << 116;
  const std::string missing = ": No such device or address\n";
  const std::string denied = ": Operation not permitted\n";
  EXPECT_EQ(
      log_of(spec.key),
      "davinci116 davinci_manager fd full null ptmx pts random shm stderr stdin stdout tty urandom zero  " +
          number.str() + " 41001 600\n1\ncat: /dev/davinci116" + missing + "cat: " + forgotten + "/own" +
          missing + "cat: " + forgotten + "/sibling" + denied + "cat: " + forgotten + "/whole" + denied);
}

// Without this, a slice that is not there yet would be found missing by the program, deep in the vendor's
// library.
TEST_F(WallsTest, ASliceWithoutANodeIsNamed) {
  LaunchSpec spec = shell("j-1", "true");
  spec.slice = {0, 100, "vir01"};
  const Result<SupervisorIdentity> prepared = executor_->prepare(spec);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Code::kUnavailable) << prepared.error().to_string();
  EXPECT_NE(prepared.error().to_string().find(devices_ + "/vdavinci100 is not a device node"),
            std::string::npos)
      << prepared.error().to_string();
}

// Without this, a restart of the daemon would leave a running program without its slice, or let it reach
// more.
TEST_F(WallsTest, AnAdoptedJobKeepsItsSlice) {
  const std::string forgotten = devices_ + "-forgotten";
  ASSERT_EQ(mkdir(forgotten.c_str(), 0755), 0);
  ASSERT_EQ(chmod(forgotten.c_str(), 0755), 0);
  make_node_at(forgotten + "/sibling", 117);
  LaunchSpec spec =
      shell("j-1", "exec 2>&1; touch up; until [ -e go ]; do sleep 0.01; done; cat /dev/davinci116; cat " +
                       forgotten + "/sibling; true");
  spec.slice = {1, 116, "vir02"};
  const AttemptKey key = run(spec);
  ASSERT_TRUE(wait_until([&] { return access((work_dir(key) + "/up").c_str(), F_OK) == 0; }));
  EXPECT_TRUE(executor_->may_live(key));
  executor_.reset();
  events_ = std::make_unique<Events>();
  ProcessExecutorConfig with_devices = config();
  with_devices.device_dir = devices_;
  executor_ = make_process_executor(with_devices);
  ASSERT_TRUE(executor_->start(events_->sink()));
  EXPECT_TRUE(executor_->may_live(key)) << "nobody has adopted it yet";
  ASSERT_TRUE(executor_->adopt(key, std::nullopt));
  std::ofstream(work_dir(key) + "/go") << "";
  EXPECT_EQ(events_->wait_exit(key).outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of(key), "cat: /dev/davinci116: No such device or address\ncat: " + forgotten +
                             "/sibling: Operation not permitted\n");
  EXPECT_FALSE(executor_->may_live(key));
  ASSERT_TRUE(executor_->remove(key));
  EXPECT_FALSE(executor_->may_live(key));
}

// Without this, a job could reach a foreign NPU through another path, a node of its own making, or a new
// namespace.
TEST_F(WallsTest, ForeignNodesAreDeniedByEveryWay) {
  LaunchSpec spec = shell("j-1", "");
  spec.npus = {1};
  const std::string forgotten = devices_ + "-forgotten";
  ASSERT_EQ(mkdir(forgotten.c_str(), 0755), 0);
  ASSERT_EQ(chmod(forgotten.c_str(), 0755), 0);
  make_node_at(forgotten + "/davinci1", 1);
  make_node_at(forgotten + "/davinci2", 2);
  const std::string foreign = forgotten + "/davinci2";
  const std::string number = std::to_string(major_);
  spec.argv = {"sh", "-c",
               "cat /dev/davinci1; cat " + forgotten + "/davinci1; cat " + devices_ + "/davinci2; cat " +
                   foreign +
                   "; cat /dev/davinci2;"
                   " mknod node c " +
                   number +
                   " 2; mount -o remount,rw /dev; umount /dev;"
                   " unshare -Urm echo nested; unshare -Urm sh -c 'umount /dev; umount " +
                   root_ + "/state; mknod node c " + number +
                   " 2;"
                   " mount -o remount,rw /dev; touch /dev/x; cat " +
                   foreign + "; ls " + root_ + "/state/jobs/j-1/1'"};
  run_to_end(spec);
  const std::string log = log_of(spec.key);
  std::istringstream lines(log);
  int allowed = 0;
  int denied = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("davinci1: No such device or address") != std::string::npos) ++allowed;
    if (line.find("davinci2: Operation not permitted") != std::string::npos) ++denied;
  }
  EXPECT_EQ(allowed, 2) << log;
  // The kernel gives no user namespace in a chroot; then there is one way less.
  const bool nested = log.find("nested\n") != std::string::npos;
  EXPECT_EQ(denied, nested ? 2 : 1) << log;
  EXPECT_NE(log.find("/dev/davinci2: No such file"), std::string::npos) << log;
  EXPECT_NE(log.find(devices_ + "/davinci2: No such file"), std::string::npos) << log;
  EXPECT_EQ(log.find("lock"), std::string::npos) << log;
  EXPECT_NE(access((work_dir(spec.key) + "/node").c_str(), F_OK), 0) << log;
}

// Without this, a driver's tree could be changed by a job, or be missing where programs look for it.
TEST_F(WallsTest, ConfiguredTreesAreMountedReadOnly) {
  const std::string source = root_ + "/driver";
  const std::string target = devices_ + "/target";
  ASSERT_EQ(mkdir(source.c_str(), 0777), 0);
  ASSERT_EQ(chmod(source.c_str(), 0777), 0);
  std::ofstream(source + "/lib") << "content\n";
  executor_.reset();
  events_ = std::make_unique<Events>();
  ProcessExecutorConfig with_mount = config();
  with_mount.mounts = {{source, target, true}};
  executor_ = make_process_executor(with_mount);
  ASSERT_TRUE(executor_->start(events_->sink()));
  run_to_end(shell("j-1", "cat " + target + "/lib; touch " + target + "/made"));
  const std::string log = log_of({"j-1", 1});
  EXPECT_NE(log.find("content\n"), std::string::npos) << log;
  EXPECT_NE(log.find("Read-only file system"), std::string::npos) << log;
}

// Without this, the operator would not be told that this machine has every wall, or would be told wrongly.
TEST_F(WallsTest, AMachineWithRootAndControlGroupsMissesNothing) {
  EXPECT_TRUE(executor_->missing_walls().empty()) << executor_->missing_walls().front();
}

}  // namespace
}  // namespace tangram::runner

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "runner/attempt_dir.h"
#include "runner_fixture.h"

namespace tangram::runner {
namespace {

class Launch : public RunnerTest {
 protected:
  // A directory that jobs can see: /tmp is private to each.
  void SetUp() override {
    RunnerTest::SetUp();
    if (IsSkipped()) return;
    char path[] = "/var/lib/tangram-runner-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    visible_ = path;
    ASSERT_EQ(chmod(path, 0755), 0);
  }
  void TearDown() override {
    RunnerTest::TearDown();
    if (!visible_.empty()) std::filesystem::remove_all(visible_);
  }

  std::string put(const std::string& name, const std::string& text, mode_t mode) const {
    const std::string path = visible_ + "/" + name;
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  std::string visible_;
};

// Without this, a typing error would look like a failure of the program.
TEST_F(Launch, WhatCannotBeExecutedIsNotStarted) {
  LaunchSpec missing = shell("j-1", "");
  missing.argv = {"no-such-program"};
  const AttemptExit record = run_to_end(missing);
  EXPECT_EQ(record.outcome, Outcome::kNotStarted);
  EXPECT_EQ(record.message, "cannot execute no-such-program: No such file or directory");
  EXPECT_FALSE(record.exit_status);
  EXPECT_TRUE(record.released);
  EXPECT_EQ(events_->running_count(missing.key), 0);
}

// Without this, a program that only root may read would be run, or fail without saying why.
TEST_F(Launch, ProgramIsLookedUpWithTheTenantsRights) {
  for (const mode_t mode : {0700U, 0644U}) {
    LaunchSpec spec = shell("j-" + std::to_string(mode), "");
    spec.argv = {put("prog" + std::to_string(mode), "#!/bin/sh\nexit 0\n", mode)};
    const AttemptExit record = run_to_end(spec);
    EXPECT_EQ(record.outcome, Outcome::kNotStarted);
    EXPECT_EQ(record.message, "cannot execute " + spec.argv[0] + ": Permission denied");
  }
}

// Without this, a user would not understand why a program under /tmp is not found.
TEST_F(Launch, ProgramUnderTmpIsExplained) {
  LaunchSpec spec = shell("j-1", "");
  spec.argv = {root_ + "/prog"};
  std::ofstream(spec.argv[0]) << "#!/bin/sh\n";
  ASSERT_EQ(chmod(spec.argv[0].c_str(), 0755), 0);
  EXPECT_NE(run_to_end(spec).message.find("each job has a /tmp of its own"), std::string::npos);
}

// Without this, PATH of the daemon instead of the job's would decide what runs.
TEST_F(Launch, PathOfTheJobDecides) {
  put("tool", "#!/bin/sh\necho mine\n", 0755);
  LaunchSpec spec = shell("j-1", "");
  spec.argv = {"tool"};
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kNotStarted);
  spec.key.job = "j-2";
  spec.env = {{"PATH", visible_ + ":/bin"}};
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of(spec.key), "mine\n");
}

// Without this, a work directory that is not there would be noticed by nobody, or as a crash.
TEST_F(Launch, WorkDirectoryMustExistAndBeTheTenantsToEnter) {
  LaunchSpec spec = shell("j-1", "pwd");
  spec.workdir = visible_ + "/missing";
  AttemptExit record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kNotStarted);
  EXPECT_EQ(record.message, "cannot use the work directory " + spec.workdir + ": No such file or directory");
  spec.key.job = "j-2";
  spec.workdir = visible_ + "/private";
  ASSERT_EQ(mkdir(spec.workdir.c_str(), 0700), 0);
  record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kNotStarted);
  EXPECT_EQ(record.message, "cannot use the work directory " + spec.workdir + ": Permission denied");
  spec.key.job = "j-3";
  ASSERT_EQ(chmod(spec.workdir.c_str(), 0755), 0);
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of(spec.key), spec.workdir + "\n");
}

// Without this, a directory of the user's under /tmp could be asked for and would silently be another one.
TEST_F(Launch, WorkDirectoryUnderTmpIsShownInThePrivateTmp) {
  LaunchSpec spec = shell("j-1", "pwd; cat note; touch made; ls -A /tmp");
  spec.workdir = root_ + "/user";
  ASSERT_EQ(mkdir(spec.workdir.c_str(), 0777), 0);
  ASSERT_EQ(chown(spec.workdir.c_str(), kAlice, kAlice), 0);
  std::ofstream(spec.workdir + "/note") << "hi\n";
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of(spec.key), spec.workdir + "\nhi\n" + root_.substr(5) + "\n");
  EXPECT_EQ(access((spec.workdir + "/made").c_str(), F_OK), 0);
}

// Without this, variables of the daemon (tokens among them) would leak into every job.
TEST_F(Launch, EnvironmentIsTheCallersAndWhatOnlyTheRunnerKnows) {
  setenv("TANGRAM_TEST_SECRET", "leak", 1);
  LaunchSpec spec = shell("j-1", "");
  spec.argv = {"env"};
  spec.env = {{"PATH", "/usr/bin:/bin"}, {"ASCEND_RT_VISIBLE_DEVICES", "0"}};
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  unsetenv("TANGRAM_TEST_SECRET");
  std::istringstream lines(log_of(spec.key));
  std::vector<std::string> got;
  for (std::string line; std::getline(lines, line);) got.push_back(line);
  std::sort(got.begin(), got.end());
  const std::string work = work_dir(spec.key);
  EXPECT_EQ(got, (std::vector<std::string>{"ASCEND_RT_VISIBLE_DEVICES=0", "HOME=" + work,
                                           "PATH=/usr/bin:/bin", "TANGRAM_JOB_DIR=" + work, "TMPDIR=/tmp"}));
  spec.key.job = "j-2";
  spec.env = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/"}};
  run_to_end(spec);
  EXPECT_NE(log_of(spec.key).find("HOME=/\n"), std::string::npos);
}

// Without this, secrets would stand on a command line or on a disk.
TEST_F(Launch, SecretsAreNowhereToBeRead) {
  LaunchSpec spec = shell("j-1", "sleep 300");
  spec.env.emplace_back("TOKEN", "very-secret-value");
  const AttemptKey key = run(spec);
  ASSERT_TRUE(events_->wait_running(key));
  for (const std::string& file : {std::string("cmdline"), std::string("environ")}) {
    const Result<std::string> text = read_file("/proc/" + std::to_string(supervisors_.back()) + "/" + file);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->find("very-secret"), std::string::npos);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(read_file(entry.path().string())->find("very-secret"), std::string::npos) << entry.path();
  }
  ASSERT_TRUE(executor_->stop(key, StopReason::kCancelled));
  EXPECT_EQ(events_->wait_exit(key).outcome, Outcome::kCancelled);
}

// Without this, bad input would reach a root process instead of the user.
TEST_F(Launch, BadDescriptionsAreRefusedAndLeaveNothing) {
  const std::vector<std::function<void(LaunchSpec&)>> spoil = {
      [](LaunchSpec& spec) { spec.uid = 0; },
      [](LaunchSpec& spec) { spec.gid = 0; },
      [](LaunchSpec& spec) { spec.groups = {0}; },
      [](LaunchSpec& spec) { spec.argv.clear(); },
      [](LaunchSpec& spec) { spec.argv = {""}; },
      [](LaunchSpec& spec) { spec.argv.emplace_back(1, '\0'); },
      [](LaunchSpec& spec) { spec.env.emplace_back("A=B", "x"); },
      [](LaunchSpec& spec) { spec.env.emplace_back("A", std::string(1, '\0')); },
      [](LaunchSpec& spec) { spec.workdir = "relative"; },
      [](LaunchSpec& spec) { spec.key.job = "../evil"; },
      [](LaunchSpec& spec) { spec.limits.memory = Bytes(-1); },
      [](LaunchSpec& spec) { spec.limits.cpu_milli = 0; },
      [](LaunchSpec& spec) { spec.time_limit_ms = 0; },
      [](LaunchSpec& spec) { spec.grace_ms = -1; },
  };
  for (const auto& change : spoil) {
    LaunchSpec spec = shell("j-1", "true");
    change(spec);
    const Result<SupervisorIdentity> prepared = executor_->prepare(spec);
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, Code::kInvalidArgument) << prepared.error().message;
  }
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/state/jobs"));
  LaunchSpec spec = shell("j-1", "true");
  spec.npus = {77};
  const Result<SupervisorIdentity> prepared = executor_->prepare(spec);
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().to_string().find("davinci77 is not a device node"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/state/jobs"));
}

// Without this, one attempt could be prepared over another that still runs.
TEST_F(Launch, AnAttemptIsPreparedOnce) {
  const AttemptKey key = run(shell("j-1", "sleep 300"));
  ASSERT_FALSE(executor_->prepare(shell("j-1", "true")));
  EXPECT_EQ(executor_->prepare(shell("j-1", "true")).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(executor_->stop(key, StopReason::kCancelled));
  events_->wait_exit(key);
  EXPECT_EQ(executor_->prepare(shell("j-1", "true")).error().code, Code::kAlreadyExists);
}

// As few further descriptors for this process.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    // Not so few that the numbers themselves are too small for what is spawned.
    do {
      taken_.emplace_back(dup(0));
    } while (taken_.back().get() < 40);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(taken_.back().get()) + 1 + static_cast<rlim_t>(left);
    setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<UniqueFd> taken_;
};

// Without this, a moment without descriptors would leave a directory that refuses the next try for good.
TEST_F(Launch, AMachineWithoutDescriptorsIsAskedAgain) {
  const LaunchSpec spec = shell("j-1", "exit 0");
  for (const int left : {0, 0, 1, 1, 2, 3}) {
    const FewDescriptors few(left);
    const auto prepared = executor_->prepare(spec);
    ASSERT_FALSE(prepared) << left;
    EXPECT_EQ(prepared.error().code, Code::kResourceExhausted)
        << left << ": " << prepared.error().to_string();
  }
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
}

// Without this, what a try left behind could be taken for a try that lives, or the other way round.
TEST_F(Launch, WhatAFailedTryLeftBehindIsNotInTheWay) {
  const LaunchSpec spec = shell("j-1", "exit 0");
  const std::string path = attempt_dir(root_ + "/state", spec.key).path;
  std::filesystem::create_directories(path + "/work/sub");
  std::ofstream(path + "/lock") << "";
  std::ofstream(path + "/log") << "of the failed try";
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  EXPECT_EQ(log_of(spec.key), "");
}

// Without this, an attempt that has ended before its go could come to life again.
TEST_F(Launch, AnAttemptThatEndedBeforeItsGoIsOver) {
  const LaunchSpec spec = shell("j-1", "true");
  ASSERT_TRUE(executor_->prepare(spec));
  ASSERT_TRUE(executor_->stop(spec.key, StopReason::kCancelled));
  EXPECT_EQ(events_->wait_exit(spec.key).outcome, Outcome::kCancelled);
  EXPECT_EQ(executor_->prepare(spec).error().code, Code::kAlreadyExists);
}

// A control group in which a process can have no child, until it is opened.
class NoProcesses {
 public:
  explicit NoProcesses(pid_t pid) {
    for (const std::string hierarchy : {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
      path_ = hierarchy + "/tangram-test-full-" + std::to_string(getpid());
      if (mkdir(path_.c_str(), 0755) != 0) continue;
      made_ = access((path_ + "/pids.max").c_str(), W_OK) == 0;
      if (made_) break;
      rmdir(path_.c_str());
    }
    if (!made_) return;
    put("pids.max", "1");
    put("cgroup.procs", std::to_string(pid));
  }
  NoProcesses(const NoProcesses&) = delete;
  NoProcesses& operator=(const NoProcesses&) = delete;
  ~NoProcesses() {
    if (made_) wait_until([this] { return rmdir(path_.c_str()) == 0; });
  }

  bool made() const { return made_; }
  void open() const { put("pids.max", "max"); }

 private:
  void put(const std::string& file, const std::string& text) const {
    std::ofstream(path_ + "/" + file) << text;
  }

  std::string path_;
  bool made_ = false;
};

// Without this, a machine that has no process left at one moment would end jobs that have done nothing wrong.
TEST_F(Launch, AMachineWithoutProcessesIsAskedAgain) {
  const LaunchSpec spec = shell("j-1", "exit 0");
  const auto supervisor = executor_->prepare(spec);
  ASSERT_TRUE(supervisor) << supervisor.error().to_string();
  const NoProcesses full(supervisor->pid);
  if (!full.made()) GTEST_SKIP() << "needs a control group that counts processes";
  ASSERT_TRUE(executor_->go(spec.key));
  usleep(1'000'000);
  EXPECT_EQ(events_->exit_count(spec.key), 0);
  full.open();
  EXPECT_EQ(events_->wait_exit(spec.key).outcome, Outcome::kSucceeded);
}

// Without this, a job that waits for a process could not be cancelled, or would be blamed for it.
TEST_F(Launch, AnAttemptThatWaitsForAProcessCanBeStopped) {
  const LaunchSpec spec = shell("j-1", "exit 0");
  const auto supervisor = executor_->prepare(spec);
  ASSERT_TRUE(supervisor) << supervisor.error().to_string();
  const NoProcesses full(supervisor->pid);
  if (!full.made()) GTEST_SKIP() << "needs a control group that counts processes";
  ASSERT_TRUE(executor_->go(spec.key));
  usleep(300'000);
  ASSERT_TRUE(executor_->stop(spec.key, StopReason::kCancelled));
  const AttemptExit record = events_->wait_exit(spec.key);
  EXPECT_EQ(record.outcome, Outcome::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(attempt_dir(root_ + "/state", spec.key).started()));
}

}  // namespace
}  // namespace tangram::runner

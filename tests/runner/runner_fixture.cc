#include "runner_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "runner/attempt_dir.h"
#include "runner/cgroup.h"

namespace tangram::runner {

ExecutorSink Events::sink() {
  ExecutorSink made;
  made.running = [this](const AttemptKey& key) {
    const std::lock_guard lock(mutex_);
    ++running_[key];
    changed_.notify_all();
  };
  made.exited = [this](const AttemptExit& record) {
    const std::lock_guard lock(mutex_);
    exits_[record.key].push_back(record);
    changed_.notify_all();
  };
  return made;
}

AttemptExit Events::wait_exit(const AttemptKey& key) {
  std::unique_lock lock(mutex_);
  const bool came =
      changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return exits_.contains(key); });
  EXPECT_TRUE(came) << key.job << " did not end";
  return came ? exits_[key].front() : AttemptExit();
}

bool Events::wait_running(const AttemptKey& key) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(kPatienceMs),
                           [&] { return running_.contains(key); });
}

int Events::running_count(const AttemptKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(key);
  return found == running_.end() ? 0 : found->second;
}

int Events::exit_count(const AttemptKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = exits_.find(key);
  return found == exits_.end() ? 0 : static_cast<int>(found->second.size());
}

bool wait_until(const std::function<bool()>& condition) {
  const std::int64_t deadline = boot_time_ms() + kPatienceMs;
  while (!condition()) {
    if (boot_time_ms() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void RunnerTest::SetUp() {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  char path[] = "/tmp/tangram-runner-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  root_ = path;
  ASSERT_EQ(chmod(path, 0755), 0);
  cgroup_name_ = "tangram-test-" + std::to_string(getpid());
  restart_executor();
}

ProcessExecutorConfig RunnerTest::config() const {
  ProcessExecutorConfig made;
  made.root = root_ + "/state";
  made.supervisor = TANGRAM_SUPERVISE;
  made.cgroup_parent = cgroup_name_;
  return made;
}

void RunnerTest::restart_executor() {
  executor_.reset();
  events_ = std::make_unique<Events>();
  executor_ = make_process_executor(config());
  const Result<void> started = executor_->start(events_->sink());
  ASSERT_TRUE(started) << started.error().to_string();
}

void RunnerTest::TearDown() {
  if (root_.empty()) return;
  executor_.reset();
  for (const pid_t pid : supervisors_) kill(pid, SIGKILL);
  const Result<std::vector<Hierarchy>> layout = detect_cgroup_layout();
  ASSERT_TRUE(layout);
  for (const Hierarchy& hierarchy : *layout) {
    const std::string parent = hierarchy.own_dir + "/" + cgroup_name_;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
      if (!entry.is_directory()) continue;
      const Cgroup leaf({CgroupDir{entry.path().string(), hierarchy.controllers, hierarchy.unified}});
      EXPECT_TRUE(wait_until([&] {
        if (!leaf.empty()) leaf.kill_all();
        return leaf.remove();
      })) << entry.path();
    }
    rmdir(parent.c_str());
  }
  std::filesystem::remove_all(root_);
}

LaunchSpec RunnerTest::shell(const std::string& job, const std::string& script) const {
  LaunchSpec spec;
  spec.key = {job, 1};
  spec.tenant = "alice";
  spec.uid = kAlice;
  spec.gid = kAlice;
  spec.argv = {"sh", "-c", script};
  spec.env = {{"PATH", "/usr/bin:/bin"}};
  spec.grace_ms = 2000;
  return spec;
}

AttemptKey RunnerTest::run(const LaunchSpec& spec) {
  const Result<SupervisorIdentity> prepared = executor_->prepare(spec);
  EXPECT_TRUE(prepared) << prepared.error().to_string();
  if (!prepared) return spec.key;
  supervisors_.push_back(prepared->pid);
  const Result<void> gone = executor_->go(spec.key);
  EXPECT_TRUE(gone) << gone.error().to_string();
  return spec.key;
}

std::string RunnerTest::log_of(const AttemptKey& key) const {
  const Result<std::string> text = read_file(executor_->log_path(key), 1 << 28);
  return text ? *text : "";
}

std::string RunnerTest::work_dir(const AttemptKey& key) const {
  return attempt_dir(root_ + "/state", key).work();
}

std::vector<pid_t> RunnerTest::job_processes() const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const Result<std::string> environment = read_file(entry.path().string() + "/environ");
    if (environment && environment->find("TANGRAM_JOB_DIR=" + root_) != std::string::npos) {
      found.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return found;
}

}  // namespace tangram::runner

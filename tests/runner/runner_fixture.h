// A state directory, a control group parent and an executor for one test; everything is gone after it.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runner/files.h"
#include "runner/process_executor.h"

namespace tangram::runner {

inline constexpr int kPatienceMs = 20'000;

// What an executor told, in order. Thread-safe.
class Events {
 public:
  ExecutorSink sink();

  // The exit of `key`; fails the test after kPatienceMs.
  AttemptExit wait_exit(const AttemptKey& key);
  bool wait_running(const AttemptKey& key);
  int running_count(const AttemptKey& key) const;
  int exit_count(const AttemptKey& key) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<AttemptKey, int> running_;
  std::map<AttemptKey, std::vector<AttemptExit>> exits_;
};

// Polls until `condition` holds; false after kPatienceMs.
bool wait_until(const std::function<bool()>& condition);

class RunnerTest : public testing::Test {
 protected:
  static constexpr uid_t kAlice = 41001;
  static constexpr uid_t kBob = 41002;

  void SetUp() override;
  void TearDown() override;

  // A fresh executor over the same state, with an Events of its own: what a restarted daemon has.
  void restart_executor();
  ProcessExecutorConfig config() const;

  // `sh -c script` as Alice.
  LaunchSpec shell(const std::string& job, const std::string& script) const;
  // prepare and go; fails the test when either is refused.
  AttemptKey run(const LaunchSpec& spec);
  AttemptExit run_to_end(const LaunchSpec& spec) { return events_->wait_exit(run(spec)); }
  std::string log_of(const AttemptKey& key) const;

  // Living processes whose environment names this test's state directory: jobs, not supervisors.
  std::vector<pid_t> job_processes() const;
  std::string work_dir(const AttemptKey& key) const;

  std::string root_;
  std::string cgroup_name_;
  std::vector<pid_t> supervisors_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace tangram::runner

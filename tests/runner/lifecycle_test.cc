#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "runner/attempt_dir.h"
#include "runner_fixture.h"

namespace tangram::runner {
namespace {

class Lifecycle : public RunnerTest {};

// Without this, a job's success would not be told from its failure.
TEST_F(Lifecycle, ExitStatusArrives) {
  const AttemptExit good = run_to_end(shell("j-1", "exit 0"));
  EXPECT_EQ(good.outcome, Outcome::kSucceeded) << good.message;
  EXPECT_EQ(good.exit_status, 0);
  const AttemptExit bad = run_to_end(shell("j-2", "exit 7"));
  EXPECT_EQ(bad.outcome, Outcome::kFailed);
  EXPECT_EQ(bad.exit_status, 7);
  EXPECT_EQ(bad.message, "exited with status 7");
}

// Without this, a crashed program would look like one that exited.
TEST_F(Lifecycle, SignalArrives) {
  const AttemptExit record = run_to_end(shell("j-1", "kill -SEGV $$"));
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_EQ(record.signal, SIGSEGV);
  EXPECT_FALSE(record.exit_status);
}

// Without this, events could be doubled or lost for jobs shorter than a turn of the loop.
TEST_F(Lifecycle, EachEventComesOnceAndInOrder) {
  const AttemptKey key = run(shell("j-1", "echo hello; echo world >&2"));
  EXPECT_EQ(events_->wait_exit(key).outcome, Outcome::kSucceeded);
  EXPECT_EQ(events_->running_count(key), 1);
  EXPECT_EQ(events_->exit_count(key), 1);
  EXPECT_EQ(log_of(key), "hello\nworld\n");
  EXPECT_TRUE(executor_->go(key)) << "go is idempotent";
  EXPECT_TRUE(executor_->remove(key));
  EXPECT_NE(access((root_ + "/state/jobs/j-1").c_str(), F_OK), 0);
  EXPECT_EQ(executor_->go(key).error().code, Code::kNotFound);
}

// Without this, many short jobs at once would lose events, leave groups behind, or trip over each other.
TEST_F(Lifecycle, ManyAttemptsAtOnceEndOnceAndLeaveNoGroup) {
  constexpr int kThreads = 4;
  constexpr int kJobsEach = 10;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      for (int job = 0; job < kJobsEach; ++job) {
        LaunchSpec spec = shell("j-" + std::to_string(thread * kJobsEach + job), "exit 0");
        spec.limits = {1000, Bytes::mib(64), 10};
        EXPECT_TRUE(executor_->prepare(spec));
        EXPECT_TRUE(executor_->go(spec.key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int job = 0; job < kThreads * kJobsEach; ++job) {
    const AttemptKey key{"j-" + std::to_string(job), 1};
    EXPECT_EQ(events_->wait_exit(key).outcome, Outcome::kSucceeded);
    const Result<std::vector<CgroupDir>> groups = read_cgroup_list(attempt_dir(root_ + "/state", key), key);
    ASSERT_TRUE(groups);
    EXPECT_GE(groups->size(), 1U);
    for (const CgroupDir& group : *groups) EXPECT_NE(access(group.path.c_str(), F_OK), 0) << group.path;
    EXPECT_EQ(events_->exit_count(key), 1);
    EXPECT_EQ(events_->running_count(key), 1);
  }
}

// Without this, a child that ignores SIGTERM would keep the NPUs of a program that has ended for the whole
// grace.
TEST_F(Lifecycle, WhatAProgramLeavesBehindIsSoonGone) {
  LaunchSpec spec = shell("j-1",
                          "setsid sh -c 'trap \"\" TERM; touch up; while :; do sleep 0.02; done' & "
                          "while ! [ -e up ]; do sleep 0.02; done; exit 3");
  spec.grace_ms = 600'000;
  const AttemptExit record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kFailed) << record.message;
  EXPECT_EQ(record.exit_status, 3);
  EXPECT_TRUE(job_processes().empty());
}

// Without this, an attempt whose directory somebody removed would keep its NPUs long after its end, and its
// supervisor would be said to have been killed.
TEST_F(Lifecycle, ARemovedDirectoryDoesNotHoldTheEnd) {
  const AttemptKey key = run(shell("j-1", "sleep 1"));
  ASSERT_TRUE(events_->wait_running(key));
  std::filesystem::remove_all(root_ + "/state/jobs");
  const AttemptExit record = events_->wait_exit(key);
  EXPECT_EQ(record.outcome, Outcome::kLost);
  EXPECT_NE(record.message.find("directory"), std::string::npos) << record.message;
  EXPECT_EQ(run_to_end(shell("j-2", "exit 0")).outcome, Outcome::kSucceeded);
}

// Without this, a stop that comes twice, or after the end, would be an error or change the outcome.
TEST_F(Lifecycle, StopIsHarmlessWhenRepeatedOrLate) {
  const AttemptKey key = run(shell("j-1", "trap 'exit 0' TERM; touch up; while :; do sleep 0.02; done"));
  ASSERT_TRUE(wait_until([&] { return access((work_dir(key) + "/up").c_str(), F_OK) == 0; }));
  EXPECT_TRUE(executor_->stop(key, StopReason::kCancelled));
  EXPECT_TRUE(executor_->stop(key, StopReason::kDeviceLost));
  const AttemptExit record = events_->wait_exit(key);
  EXPECT_EQ(record.outcome, Outcome::kCancelled);
  EXPECT_EQ(record.exit_status, 0);
  EXPECT_TRUE(executor_->stop(key, StopReason::kCancelled));
  EXPECT_EQ(executor_->stop({"j-2", 1}, StopReason::kCancelled).error().code, Code::kNotFound);
}

// Without this, a job that is cancelled while it starts would keep its NPUs for the whole grace, and be
// killed without a chance to clean up.
TEST_F(Lifecycle, AStopWhileItStartsIsNotLost) {
  for (int round = 0; round < 30; ++round) {
    LaunchSpec spec = shell("j-" + std::to_string(round + 1), "exec sleep 1000");
    spec.grace_ms = 600'000;
    const AttemptKey key = run(spec);
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    ASSERT_TRUE(executor_->stop(key, StopReason::kCancelled));
    const AttemptExit record = events_->wait_exit(key);
    ASSERT_EQ(record.outcome, Outcome::kCancelled) << "round " << round << ": " << record.message;
  }
}

}  // namespace
}  // namespace tangram::runner

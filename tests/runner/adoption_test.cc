#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "runner/attempt_dir.h"
#include "runner_fixture.h"

namespace tangram::runner {
namespace {

class Adoption : public RunnerTest {
 protected:
  // Identity of the attempt's supervisor, as a daemon would have journaled it.
  SupervisorIdentity prepare(const LaunchSpec& spec) {
    const Result<SupervisorIdentity> prepared = executor_->prepare(spec);
    EXPECT_TRUE(prepared) << prepared.error().to_string();
    supervisors_.push_back(prepared->pid);
    return *prepared;
  }

  // The daemon dies here: no destructor of the service, just all its descriptors gone.
  void lose_daemon() { restart_executor(); }

  AttemptExit adopt_and_wait(const AttemptKey& key, const std::optional<SupervisorIdentity>& identity) {
    const Result<void> adopted = executor_->adopt(key, identity);
    EXPECT_TRUE(adopted) << adopted.error().to_string();
    return events_->wait_exit(key);
  }
};

// Without this, a restart of the daemon would lose the exit status of every running job.
TEST_F(Adoption, RunningJobIsFoundAgainWithItsStatus) {
  const LaunchSpec spec = shell("j-1", "while [ ! -e done ]; do sleep 0.02; done; exit 5");
  const SupervisorIdentity identity = prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  ASSERT_TRUE(events_->wait_running(spec.key));
  lose_daemon();
  ASSERT_TRUE(executor_->adopt(spec.key, identity));
  ASSERT_TRUE(events_->wait_running(spec.key));
  std::ofstream(work_dir(spec.key) + "/done").put('x');
  const AttemptExit record = events_->wait_exit(spec.key);
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_EQ(record.exit_status, 5);
  EXPECT_EQ(events_->running_count(spec.key), 1);
  EXPECT_EQ(events_->exit_count(spec.key), 1);
}

// Without this, an adopted job could no longer be cancelled.
TEST_F(Adoption, AdoptedJobCanBeStoppedEvenBeforeItIsReached) {
  const LaunchSpec spec = shell("j-1", "sleep 100");
  const SupervisorIdentity identity = prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  ASSERT_TRUE(events_->wait_running(spec.key));
  lose_daemon();
  ASSERT_TRUE(executor_->adopt(spec.key, identity));
  ASSERT_TRUE(executor_->stop(spec.key, StopReason::kCancelled));
  EXPECT_EQ(events_->wait_exit(spec.key).outcome, Outcome::kCancelled);
}

// Without this, a job that ended while no daemon was there would be called lost.
TEST_F(Adoption, EndWithoutADaemonIsRead) {
  const LaunchSpec spec = shell("j-1", "exit 6");
  const SupervisorIdentity identity = prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  events_->wait_exit(spec.key);
  lose_daemon();
  const AttemptExit record = adopt_and_wait(spec.key, identity);
  EXPECT_EQ(record.exit_status, 6);
}

// Without this, a job could run although the daemon died before it had noted that it may.
TEST_F(Adoption, WithoutGoNothingEverRuns) {
  const LaunchSpec spec = shell("j-1", "touch ran");
  const SupervisorIdentity identity = prepare(spec);
  lose_daemon();
  const AttemptExit record = adopt_and_wait(spec.key, identity);
  EXPECT_EQ(record.outcome, Outcome::kNotStarted);
  EXPECT_FALSE(record.released);
  EXPECT_NE(access((work_dir(spec.key) + "/ran").c_str(), F_OK), 0);
}

// Without this, an attempt that was noted but never prepared would wait for ever.
TEST_F(Adoption, AttemptThatNeverWasIsNotStarted) {
  const AttemptExit record = adopt_and_wait({"j-9", 1}, std::nullopt);
  EXPECT_EQ(record.outcome, Outcome::kNotStarted);
  EXPECT_FALSE(record.released);
}

// Without this, what a job did before a reboot would be reported as never started.
TEST_F(Adoption, RebootMeansLost) {
  const LaunchSpec spec = shell("j-1", "exit 0");
  SupervisorIdentity identity = prepare(spec);
  lose_daemon();
  ASSERT_EQ(adopt_and_wait(spec.key, identity).outcome, Outcome::kNotStarted);
  ASSERT_EQ(unlink(attempt_dir(root_ + "/state", spec.key).exit_record().c_str()), 0);
  lose_daemon();
  identity.boot_id = "00000000-0000-0000-0000-000000000000";
  const AttemptExit record = adopt_and_wait(spec.key, identity);
  EXPECT_EQ(record.outcome, Outcome::kLost);
  EXPECT_NE(record.message.find("restarted"), std::string::npos);
}

// Without this, a damaged file would be blamed on a kill that never was.
TEST_F(Adoption, ADamagedRecordIsToldAsDamaged) {
  const LaunchSpec spec = shell("j-1", "exit 0");
  const SupervisorIdentity identity = prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  events_->wait_exit(spec.key);
  lose_daemon();
  std::ofstream(attempt_dir(root_ + "/state", spec.key).exit_record()) << "{}";
  const AttemptExit record = adopt_and_wait(spec.key, identity);
  EXPECT_EQ(record.outcome, Outcome::kLost);
  EXPECT_EQ(record.message, "the record of its end is damaged: what became of it is unknown");
}

// Without this, killing a supervisor would leave its job running on NPUs that are given to others.
TEST_F(Adoption, KilledSupervisorTakesItsWholeJobWithIt) {
  const LaunchSpec spec =
      shell("j-1", "setsid sleep 300 & (setsid sh -c 'sleep 300 & sleep 300' &); sleep 300");
  const SupervisorIdentity identity = prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  ASSERT_TRUE(events_->wait_running(spec.key));
  ASSERT_TRUE(wait_until([&] { return job_processes().size() >= 4; }));
  kill(identity.pid, SIGKILL);
  const AttemptExit record = events_->wait_exit(spec.key);
  EXPECT_EQ(record.outcome, Outcome::kLost);
  EXPECT_TRUE(job_processes().empty());
  lose_daemon();
  EXPECT_EQ(adopt_and_wait(spec.key, identity).outcome, Outcome::kLost) << "told again, from the record";
}

// Without this, the same with the daemon away: its successor would find orphans.
TEST_F(Adoption, KilledSupervisorIsFoundOutByTheNextDaemon) {
  const LaunchSpec spec = shell("j-1", "setsid sleep 300 & sleep 300");
  const SupervisorIdentity identity = prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  ASSERT_TRUE(events_->wait_running(spec.key));
  executor_.reset();
  kill(identity.pid, SIGKILL);
  lose_daemon();
  EXPECT_EQ(adopt_and_wait(spec.key, identity).outcome, Outcome::kLost);
  EXPECT_TRUE(job_processes().empty());
}

// Without this, removing the directory of a job that still runs would be possible.
TEST_F(Adoption, RemoveIsRefusedWhileASupervisorLives) {
  const LaunchSpec spec = shell("j-1", "sleep 300");
  const SupervisorIdentity identity = prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  ASSERT_TRUE(events_->wait_running(spec.key));
  EXPECT_EQ(executor_->remove(spec.key).error().code, Code::kFailedPrecondition);
  lose_daemon();
  EXPECT_EQ(executor_->remove(spec.key).error().code, Code::kFailedPrecondition);
  ASSERT_TRUE(executor_->adopt(spec.key, identity));
  ASSERT_TRUE(executor_->stop(spec.key, StopReason::kDeviceLost));
  EXPECT_EQ(events_->wait_exit(spec.key).outcome, Outcome::kDeviceLost);
  EXPECT_TRUE(executor_->remove(spec.key));
}

// Without this, a journal put back from a backup would share NPUs and names with attempts that it does not
// know.
TEST_F(Adoption, WhatNobodyKnowsIsEndedAndKeptUnderAnotherName) {
  const LaunchSpec spec = shell("j-1", "setsid sleep 300 & sleep 300");
  prepare(spec);
  ASSERT_TRUE(executor_->go(spec.key));
  ASSERT_TRUE(events_->wait_running(spec.key));
  ASSERT_TRUE(wait_until([&] { return job_processes().size() >= 2; }));
  run_to_end(shell("j-2", "echo kept"));
  lose_daemon();
  const auto found = executor_->attempts_on_disk();
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<AttemptKey>{{"j-1", 1}, {"j-2", 1}}));
  for (const AttemptKey& key : *found) {
    const Result<void> done = executor_->set_aside(key);
    EXPECT_TRUE(done) << done.error().to_string();
  }
  EXPECT_TRUE(job_processes().empty());
  EXPECT_TRUE(executor_->attempts_on_disk()->empty());
  EXPECT_EQ(read_file(root_ + "/state/jobs/j-2/1.lost-1/log").value_or(""), "kept\n");
  EXPECT_EQ(run_to_end(shell("j-1", "exit 0")).outcome, Outcome::kSucceeded);
}

struct CrashCase {
  const char* point;
  Outcome outcome;
  int exit_status;  // -1: none
  int runs_max;
};

class CrashPoint : public RunnerTest, public testing::WithParamInterface<CrashCase> {
 protected:
  // Runs the daemon until it dies or its job has ended; its words.
  std::string run_daemon(const std::string& job, const std::string& script) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t daemon = fork();
    if (daemon == 0) {
      dup2(ends[1], 1);
      setenv("TANGRAM_CRASH_AT", GetParam().point, 1);
      const std::string root = root_ + "/state";
      const std::string uid = std::to_string(kAlice);
      execl(TANGRAM_TEST_DAEMON, TANGRAM_TEST_DAEMON, root.c_str(), TANGRAM_SUPERVISE, cgroup_name_.c_str(),
            uid.c_str(), job.c_str(), script.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::string words;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
      words.append(buffer, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    waitpid(daemon, &daemon_status_, 0);
    return words;
  }

  int daemon_status_ = 0;
};

// Without this, a kill between two steps could run a job twice, never, or lose its end.
TEST_P(CrashPoint, AttemptEndsOnceAndRunsAtMostOnce) {
  const AttemptKey key{"j-1", 1};
  executor_.reset();  // one daemon at a time
  const std::string words = run_daemon(key.job, "echo run >> runs; setsid sleep 0.1 & sleep 0.2; exit 3");
  std::optional<SupervisorIdentity> identity;
  if (const std::size_t at = words.find("prepared "); at != std::string::npos) {
    std::istringstream fields(words.substr(at + 9));
    identity.emplace();
    fields >> identity->pid >> identity->start_ticks >> identity->boot_id;
  }
  const bool in_daemon = std::string(GetParam().point).starts_with("runner.");
  EXPECT_EQ(WIFSIGNALED(daemon_status_), in_daemon) << "the crash did not happen where it should: " << words;
  restart_executor();
  const Result<void> adopted = executor_->adopt(key, identity);
  ASSERT_TRUE(adopted) << adopted.error().to_string();
  const AttemptExit record = events_->wait_exit(key);
  EXPECT_EQ(record.outcome, GetParam().outcome) << record.message;
  EXPECT_EQ(record.exit_status.value_or(-1), GetParam().exit_status);
  EXPECT_TRUE(job_processes().empty());
  std::ifstream runs(work_dir(key) + "/runs");
  int count = 0;
  for (std::string line; std::getline(runs, line);) ++count;
  EXPECT_LE(count, GetParam().runs_max);
  EXPECT_EQ(events_->exit_count(key), 1);
}

INSTANTIATE_TEST_SUITE_P(All, CrashPoint,
                         testing::Values(CrashCase{"runner.before_spawn", Outcome::kNotStarted, -1, 0},
                                         CrashCase{"runner.after_spawn", Outcome::kNotStarted, -1, 0},
                                         CrashCase{"runner.before_go", Outcome::kNotStarted, -1, 0},
                                         CrashCase{"runner.after_go", Outcome::kFailed, 3, 1},
                                         CrashCase{"supervise.before_exec", Outcome::kLost, -1, 0},
                                         CrashCase{"supervise.after_exec", Outcome::kLost, -1, 1},
                                         CrashCase{"supervise.before_exit_record", Outcome::kLost, -1, 1},
                                         CrashCase{"runner.after_exit_tmp", Outcome::kLost, -1, 1},
                                         CrashCase{"supervise.after_exit_record", Outcome::kFailed, 3, 1}),
                         [](const testing::TestParamInfo<CrashCase>& tested) {
                           std::string name = tested.param.point;
                           for (char& letter : name) letter = letter == '.' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace tangram::runner

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner_fixture.h"

namespace tangram::runner {
namespace {

class Limits : public RunnerTest {};

// Without this, a job past its time limit would hold its NPUs for ever.
TEST_F(Limits, TimeLimitSendsSigterm) {
  LaunchSpec spec = shell("j-1", "trap 'echo polite; exit 9' TERM; while :; do sleep 0.05; done");
  spec.time_limit_ms = 300;
  const AttemptExit record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kTimedOut);
  EXPECT_EQ(record.exit_status, 9);
  EXPECT_EQ(record.message, "stopped at its time limit of 300ms");
  EXPECT_TRUE(log_of(spec.key).ends_with("polite\n"));
}

// Without this, a job that ignores SIGTERM, or children in sessions of their own, would outlive the limit.
TEST_F(Limits, TimeLimitKillsWhatIgnoresSigtermEverywhere) {
  LaunchSpec spec =
      shell("j-1", "trap '' TERM; setsid sleep 300 & (setsid sh -c 'sleep 300 & sleep 300' &); sleep 300");
  spec.time_limit_ms = 300;
  spec.grace_ms = 200;
  const AttemptExit record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kTimedOut);
  EXPECT_EQ(record.signal, SIGKILL);
  EXPECT_TRUE(job_processes().empty());
}

// Without this, a daemon that a job leaves behind would go on using the NPU that is given to the next one.
TEST_F(Limits, JobEndsWhenItsLastProcessHasEnded) {
  const std::string script =
      "(setsid sh -c 'trap \"touch asked; exit\" TERM; touch up; while :; do sleep 0.02; done' &)";
  const LaunchSpec spec = shell("j-1", script + "; while [ ! -e up ]; do sleep 0.02; done; exit 0");
  const AttemptExit record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kSucceeded);
  EXPECT_EQ(access((work_dir(spec.key) + "/asked").c_str(), F_OK), 0);
  EXPECT_TRUE(job_processes().empty());
}

// Without this, cancelling before the start would let the job start.
TEST_F(Limits, CancelBeforeGo) {
  const LaunchSpec spec = shell("j-1", "touch ran");
  ASSERT_TRUE(executor_->prepare(spec));
  ASSERT_TRUE(executor_->stop(spec.key, StopReason::kCancelled));
  EXPECT_EQ(events_->wait_exit(spec.key).outcome, Outcome::kCancelled);
  EXPECT_NE(access((work_dir(spec.key) + "/ran").c_str(), F_OK), 0);
}

// Without this, one tenant's fork bomb would take the whole machine's processes.
TEST_F(Limits, ForkBombHurtsOnlyItself) {
  LaunchSpec bomb = shell("j-1", "");
  bomb.argv = {"python3", "-c",
               "import os, time\n"
               "while True:\n"
               "  try: os.fork()\n"
               "  except OSError: time.sleep(0.01)\n"};
  bomb.limits.processes = 40;
  bomb.time_limit_ms = 700;
  bomb.grace_ms = 100;
  const AttemptKey key = run(bomb);
  ASSERT_TRUE(events_->wait_running(key));
  EXPECT_EQ(run_to_end(shell("j-2", "true | true; exit 0")).outcome, Outcome::kSucceeded);
  EXPECT_LE(job_processes().size(), 40U);
  EXPECT_EQ(events_->wait_exit(key).outcome, Outcome::kTimedOut);
  EXPECT_TRUE(job_processes().empty());
}

// Without this, a memory hog would make the kernel kill its neighbours, and nobody would be told why it died.
TEST_F(Limits, MemoryHogIsKilledAndTold) {
  LaunchSpec spec = shell("j-1", "exec head -c 300m /dev/zero | tail");
  spec.argv = {"python3", "-c", "x = bytearray(300 << 20); print(len(x))"};
  spec.limits.memory = Bytes::mib(64);
  const AttemptExit record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_TRUE(record.out_of_memory) << record.message;
  EXPECT_EQ(record.signal, SIGKILL);
  EXPECT_EQ(record.message, "killed by its host memory limit of 64MiB");
}

// Without this, private memory that is a file system would be a way around the limit.
TEST_F(Limits, SharedMemoryCountsToo) {
  // Each holds half of the memory.
  LaunchSpec spec = shell("j-1",
                          "head -c 300000000 /dev/zero > /dev/shm/big; [ -s /dev/shm/big ] || exit 0;"
                          "exec head -c 300000000 /dev/zero > /tmp/big");
  spec.limits.memory = Bytes::mib(64);
  const AttemptExit record = run_to_end(spec);
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_TRUE(record.out_of_memory) << record.message;
}

// Without this, a cpu limit would be a number that nothing enforces.
TEST_F(Limits, CpuLimitIsInForce) {
  LaunchSpec spec = shell(
      "j-1", "end=$(($(date +%s%N) + 1000000000)); while [ $(date +%s%N) -lt $end ]; do :; done; times");
  spec.argv = {"python3", "-c",
               "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
               "print(time.process_time())"};
  spec.limits.cpu_milli = 200;
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  EXPECT_LT(std::stod(log_of(spec.key)), 0.5);
}

// Without this, a chatty job would fill the disk, or block for ever on a full pipe.
TEST_F(Limits, LogFloodIsCutAndTheJobEnds) {
  LaunchSpec spec = shell("j-1", "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last");
  spec.log_bytes_max = 1 << 20;
  EXPECT_EQ(run_to_end(spec).outcome, Outcome::kSucceeded);
  const std::string log = log_of(spec.key);
  EXPECT_LE(log.size(), std::size_t{1} << 20);
  EXPECT_TRUE(log.starts_with("first\n"));
  EXPECT_TRUE(log.ends_with("\nlast\n"));
  EXPECT_NE(log.find("bytes were cut here]"), std::string::npos);
}

}  // namespace
}  // namespace tangram::runner

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace
}  // namespace tangram::runner

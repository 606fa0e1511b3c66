#include <gtest/gtest.h>

#include "cli/job_end.h"

namespace tangram::cli {
namespace {

wire::JobView ended(Outcome outcome) {
  wire::JobView view;
  view.state = JobState::kEnded;
  view.outcome = outcome;
  return view;
}

// Without it a script could take a failed job for a good one.
TEST(ExitCodeOf, IsTheJobsOwnStatus) {
  EXPECT_EQ(exit_code_of(ended(Outcome::kSucceeded)), 0);
  wire::JobView failed = ended(Outcome::kFailed);
  failed.exit_status = 42;
  EXPECT_EQ(exit_code_of(failed), 42);
  failed.exit_status.reset();
  EXPECT_EQ(exit_code_of(failed), 1);
  failed.signal = 9;
  EXPECT_EQ(exit_code_of(failed), 137);
}

// Without it an end that has no status of its own could count as success.
TEST(ExitCodeOf, IsOneForEveryOtherEnd) {
  for (const Outcome outcome : {Outcome::kTimedOut, Outcome::kCancelled, Outcome::kNotStarted, Outcome::kLost,
                                Outcome::kDeviceLost, Outcome::kRefused}) {
    EXPECT_EQ(exit_code_of(ended(outcome)), 1) << to_string(outcome);
  }
}

// Without it --no-wait could not be told apart: over quota, or only busy now.
TEST(ExitCodeOf, TellsAQuotaFromBusyNpus) {
  wire::JobView refused = ended(Outcome::kRefused);
  refused.reason = wire::ReasonView{"quota.npus.exceeded", "", "", {}};
  EXPECT_EQ(exit_code_of(refused), 3);
  refused.reason->code = "capacity.npus.busy";
  EXPECT_EQ(exit_code_of(refused), 1);
}

}  // namespace
}  // namespace tangram::cli

#include "runner/verdict.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace tangram::runner {
namespace {

constexpr int exited(int status) {
  return status << 8;
}

Observed ran(std::optional<int> status) {
  Observed observed;
  observed.executed = true;
  observed.main_status = status;
  return observed;
}

struct Row {
  const char* name;
  Observed observed;
  Outcome outcome;
  std::optional<int> exit_status;
  std::optional<int> signal;
  std::string message;
};

std::vector<Row> rows() {
  Observed timed_out = ran(exited(0));
  timed_out.imposed = Outcome::kTimedOut;
  Observed cancelled_early;
  cancelled_early.imposed = Outcome::kCancelled;
  Observed not_started;
  not_started.start_error = "cannot execute x: Permission denied";
  not_started.main_status = exited(127);
  Observed hog = ran(SIGKILL);
  hog.out_of_memory_kills = 1;
  Observed survivor = ran(exited(0));
  survivor.out_of_memory_kills = 1;
  return {
      {"success", ran(exited(0)), Outcome::kSucceeded, 0, std::nullopt, "exited with status 0"},
      {"failure", ran(exited(7)), Outcome::kFailed, 7, std::nullopt, "exited with status 7"},
      {"signal", ran(SIGSEGV), Outcome::kFailed, std::nullopt, SIGSEGV, "ended by signal 11"},
      {"timed out though it then succeeded", timed_out, Outcome::kTimedOut, 0, std::nullopt,
       "stopped at its time limit of 5s"},
      {"cancelled early", cancelled_early, Outcome::kCancelled, std::nullopt, std::nullopt,
       "cancelled before it started"},
      {"not started", not_started, Outcome::kNotStarted, std::nullopt, std::nullopt,
       "cannot execute x: Permission denied"},
      {"memory hog", hog, Outcome::kFailed, std::nullopt, SIGKILL, "killed by its host memory limit of 1GiB"},
      {"only a helper was killed", survivor, Outcome::kSucceeded, 0, std::nullopt, "exited with status 0"},
      {"init killed", ran(std::nullopt), Outcome::kLost, std::nullopt, std::nullopt,
       "its init process was killed: what became of it is unknown"},
  };
}

// Without this, users would be told another end than the one that happened.
TEST(Verdict, SaysWhatHappened) {
  LaunchSpec spec;
  spec.key = {"j-1", 4};
  spec.time_limit_ms = 5000;
  spec.limits.memory = Bytes::gib(1);
  for (const Row& row : rows()) {
    const AttemptExit record = verdict(spec, row.observed);
    EXPECT_EQ(record.key, spec.key) << row.name;
    EXPECT_EQ(record.outcome, row.outcome) << row.name;
    EXPECT_EQ(record.exit_status, row.exit_status) << row.name;
    EXPECT_EQ(record.signal, row.signal) << row.name;
    EXPECT_EQ(record.message, row.message) << row.name;
    EXPECT_EQ(record.out_of_memory, std::string(row.name) == "memory hog") << row.name;
  }
}

}  // namespace
}  // namespace tangram::runner

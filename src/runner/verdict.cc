#include "runner/verdict.h"

#include <sys/wait.h>

#include "base/units.h"

namespace tangram::runner {
namespace {

Outcome outcome_of(const Observed& observed) {
  if (observed.imposed) return *observed.imposed;
  if (!observed.executed || !observed.start_error.empty()) return Outcome::kNotStarted;
  if (!observed.main_status) return Outcome::kLost;
  const bool success = WIFEXITED(*observed.main_status) && WEXITSTATUS(*observed.main_status) == 0;
  return success ? Outcome::kSucceeded : Outcome::kFailed;
}

std::string message_of(const LaunchSpec& spec, const Observed& observed) {
  if (observed.imposed == Outcome::kTimedOut) {
    return "stopped at its time limit of " + format_duration_ms(spec.time_limit_ms);
  }
  if (observed.imposed == Outcome::kCancelled)
    return observed.executed ? "cancelled" : "cancelled before it started";
  if (observed.imposed == Outcome::kDeviceLost) return "stopped because an NPU that it held went away";
  if (!observed.start_error.empty()) return observed.start_error;
  if (!observed.main_status) return "its init process was killed: what became of it is unknown";
  if (WIFSIGNALED(*observed.main_status))
    return "ended by signal " + std::to_string(WTERMSIG(*observed.main_status));
  return "exited with status " + std::to_string(WEXITSTATUS(*observed.main_status));
}

}  // namespace

AttemptExit verdict(const LaunchSpec& spec, const Observed& observed) {
  AttemptExit record;
  record.key = spec.key;
  record.outcome = outcome_of(observed);
  if (observed.main_status && observed.executed) {
    if (WIFEXITED(*observed.main_status)) record.exit_status = WEXITSTATUS(*observed.main_status);
    if (WIFSIGNALED(*observed.main_status)) record.signal = WTERMSIG(*observed.main_status);
  }
  record.out_of_memory = record.outcome == Outcome::kFailed && observed.out_of_memory_kills > 0;
  record.message = record.out_of_memory
                       ? "killed by its host memory limit of " + format_bytes(spec.limits.memory)
                       : message_of(spec, observed);
  return record;
}

}  // namespace tangram::runner

// "What if": changes a copy of the state, sees whether a queued job then starts, and takes the change back.
// Private to src/scheduler.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "scheduler/state.h"

namespace tangram {

class Replay {
 public:
  // How many questions one explanation may ask, and how many ends of jobs it follows into the future.
  static constexpr int kQuestionsMax = 48;
  static constexpr int kStepsMax = 256;

  Replay(const CoreState& state, TimeMs now, Handle job) : state_(state), now_(now), job_(job) {}

  // Each: whether the job would start at once. False as well when no question is left.
  bool starts_if_ended(std::span<const JobId> jobs);
  bool starts_if_returned();  // all slices that nobody holds and nothing uses
  bool starts_with(const Request& request);
  bool starts_with_limit(TenantId tenant, Dimension dimension, std::int64_t limit);

  // When the job starts if running jobs, and those that start meanwhile, end at their time limits. Uses the
  // copy up: to be asked last.
  std::optional<TimeMs> start_by_time_limits();

 private:
  bool has_question() { return questions_++ < kQuestionsMax; }
  bool starts_now();
  void expect_end(Handle job);
  // Whether that job is among those who now follow.
  bool starts_by_now(JobId wanted);
  bool admits_by_now(JobId wanted);

  CoreState state_;
  TimeMs now_;
  Handle job_;
  int questions_ = 0;
  using End = std::tuple<TimeMs, JobId, Handle>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

// When a running job must end; TimeMs::never() if it has no limit.
TimeMs latest_end(const JobRecord& job);

// Handles of all jobs that hold NPUs, first to end first, then by id.
std::vector<Handle> active_by_end(const CoreState& state);

}  // namespace tangram

// Checks of jobs against the state that inputs and steps share. Private to src/scheduler.
#pragma once

#include "base/result.h"
#include "scheduler/state.h"

namespace tangram {

// A job that may come into the queue: its tenant exists, its number is new.
Result<void> check_new_job(const CoreState& state, const JobSpec& spec);
// Its values, and that its tenant exists.
Result<void> check_job(const CoreState& state, const JobSpec& spec);
// Limits that it breaks by itself, whoever else holds what: `least` is what it charges at least.
Result<void> check_own_limits(const CoreState& state, const JobSpec& spec, const Amounts& least);

}  // namespace tangram

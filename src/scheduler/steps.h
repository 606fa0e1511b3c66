// The steps of the state machine on a bare state: Scheduler and its replays share them. Private to
// src/scheduler.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/judge.h"
#include "scheduler/state.h"

namespace tangram {

void apply_input(CoreState& state, const Input& input, TimeMs now);
void apply_decision(CoreState& state, const Decision& decision, TimeMs now);
void apply_admission(CoreState& state, const Admission& admission, TimeMs now);

// Parts of the above: a job leaves the queue, and a job that is not in it ends.
void leave_queue(CoreState& state, Handle job);
void end_job(CoreState& state, Handle job, bool was_queued);

// Leaves the state as it was: works by doing and undoing, as a copy would cost more than the decision.
std::vector<Decision> decide_on(CoreState& state, TimeMs now, std::size_t limit);
// The same where somebody else chooses the node: who is admitted.
std::vector<Admission> admit_on(CoreState& state, TimeMs now, std::size_t limit);

// What decide_on() would come to for one queued job, everybody who ranks before it served first. Leaves the
// state as it was.
Verdict judge_in_turn(CoreState& state, TimeMs now, Handle job);

}  // namespace tangram

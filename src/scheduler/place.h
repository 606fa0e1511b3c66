// The steps of placing on a bare state. Private to src/scheduler.
#pragma once

#include "scheduler/state.h"

namespace tangram {

void apply_placed(CoreState& state, const JobPlaced& placed, TimeMs now);
void apply_dropped(CoreState& state, const PlaceDropped& dropped);
void apply_submitted(CoreState& state, const PartsSubmitted& submitted, TimeMs now);
void apply_observed(CoreState& state, const PartsObserved& observed, TimeMs now);

// Why an admitted job has no place: what the node says that is nearest to having one.
Explanation explain_unplaced(const CoreState& state, const JobRecord& job);

}  // namespace tangram

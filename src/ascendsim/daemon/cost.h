// How long a task takes on a chip, by arithmetic alone.
#pragma once

#include "ascendsim/daemon/machine.h"
#include "ascendsim/protocol/ring.h"

namespace ascendsim {

// Any numbers may stand in `task`: a stranger wrote them. The result is finite, saturating far above every
// limit.
std::uint64_t task_cost_ns(const ChipModel& chip, const TaskEntry& task);

}  // namespace ascendsim

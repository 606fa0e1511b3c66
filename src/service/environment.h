// What a job finds when it starts: the CANN variables, its identity, and what its submission asked for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ports/executor.h"
#include "service/options.h"
#include "service/state.h"

namespace tangram::service {

// The launch of the present attempt of an active job. The job must be in the core and among the live ones.
//
// NPUs: ASCEND_VISIBLE_DEVICES names physical ids; ASCEND_RT_VISIBLE_DEVICES counts from 0 when the job has a
// /dev of its own, because the driver renumbers what such a process can reach in ascending order, and names
// physical ids otherwise. ASCEND_DEVICE_ID is the primary device as the program counts it: always 0. The
// submission's variables win, except those that tell the truth about the lease (ASCEND_*VISIBLE_DEVICES,
// TANGRAM_*).
LaunchSpec make_launch(const State& state, const Options& options, bool private_devices, JobId job);

}  // namespace tangram::service

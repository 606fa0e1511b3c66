// What a job finds when it starts: the CANN variables, its identity, and what its submission asked for.
#pragma once

#include <map>
#include <string>

#include "ports/executor.h"
#include "service/options.h"
#include "service/state.h"

namespace tangram::service {

// The launch of the present attempt of an active job. The job must be in the core and among the live ones.
//
// ASCEND_DEVICE_ID is the primary device as the program counts it: always 0. The submission's variables win,
// except those that tell the truth about what the job holds (tell_devices(), TANGRAM_*).
LaunchSpec make_launch(const State& state, const Options& options, bool private_devices, JobId job);

// Puts into `env` what tells of the NPUs, or of the slice, of `spec`, over whatever is there, each once.
//
// ASCEND_VISIBLE_DEVICES names physical ids, that of a slice the NPU that it is cut of; ASCEND_VNPU_SPECS
// names a slice's template and is there for a slice alone: together what Ascend's container runtime is told.
// ASCEND_RT_VISIBLE_DEVICES counts from 0 when the job has a /dev of its own, because the driver renumbers
// what such a process can reach in ascending order, and names physical ids otherwise; a slice is always the
// one device 0.
void tell_devices(const LaunchSpec& spec, bool private_devices, std::map<std::string, std::string>& env);

}  // namespace tangram::service

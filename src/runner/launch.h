// Bringing a supervisor into being for one attempt.
#pragma once

#include "base/result.h"
#include "ports/executor.h"
#include "runner/process_executor.h"
#include "runner/spawn.h"
#include "runner/walls.h"

namespace tangram::runner {

// Creates the attempt's directory (kAlreadyExists when it is there) and a supervisor that holds its lock and
// waits for go. After a failure nothing of either is left. Thread-safe.
Result<Spawned> launch_supervisor(const ProcessExecutorConfig& config, const MachineWalls& walls,
                                  const LaunchSpec& spec);

}  // namespace tangram::runner

// Bringing a supervisor into being for one attempt.
#pragma once

#include "base/result.h"
#include "ports/executor.h"
#include "runner/process_executor.h"
#include "runner/spawn.h"
#include "runner/walls.h"

namespace tangram::runner {

// Creates the attempt's directory (kAlreadyExists when an attempt lives there, was let go or has ended) and a
// supervisor that holds its lock and waits for go. After a failure nothing of either is left, but for what a
// machine without descriptors or room cannot remove: the next try does. Thread-safe.
Result<Spawned> launch_supervisor(const ProcessExecutorConfig& config, const MachineWalls& walls,
                                  const LaunchSpec& spec);

// Takes back what launch_supervisor() made, before its go.
void discard_launch(const ProcessExecutorConfig& config, const AttemptKey& key, Spawned& spawned);

}  // namespace tangram::runner

// What this machine, and the rights we have on it, allow for holding tenants apart.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runner/cgroup.h"
#include "runner/process_executor.h"

namespace tangram::runner {

struct MachineWalls {
  Walls walls;
  CgroupParent cgroups;
  std::vector<std::string> missing;  // one sentence each
};

// Tries each wall once, makes the parent control group, and creates the targets of configured mounts. An
// error only for what no job could run with: a supervisor that does not start, a mount whose source is
// missing.
Result<MachineWalls> find_walls(const ProcessExecutorConfig& config);

}  // namespace tangram::runner

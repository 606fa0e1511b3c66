// What a job sees of the machine: its own mounts, processes and IPC, a /dev with only its own devices, a
// private /tmp, and nothing of Tangram's state but its own directory. Runs in the job's init process, as
// root, in fresh mount, PID and IPC namespaces. The network stays shared.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runner/device_nodes.h"
#include "runner/spec.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

// The working directory of the job: its own, or the one it asked for, which the tenant must be able to enter.
// Looked up with the tenant's rights. The descriptor is good for mounting it again (O_PATH).
Result<UniqueFd> open_workdir(const SuperviseSpec& spec);

// Changes the mounts of the calling process; they must be its own (make_mounts_private).
Result<void> build_job_view(const SuperviseSpec& spec, const std::vector<DeviceNode>& devices,
                            const UniqueFd& workdir);

// Whether this process may make such namespaces and mounts: tries it in a child process.
Result<void> probe_namespaces();

}  // namespace tangram::runner

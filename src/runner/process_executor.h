// The Executor of one machine: each attempt is a process tree under a `tangram-supervise` of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ports/executor.h"
#include "runner/cgroup_layout.h"
#include "runner/spec.h"

namespace tangram::runner {

struct ProcessExecutorConfig {
  std::string root;        // the state's directory, absolute; attempts live in <root>/jobs
  std::string supervisor;  // absolute path of tangram-supervise
  std::string cgroup_parent =
      "tangram";                    // below our own group; with a leading slash: below the root of the mount
  std::string device_dir = "/dev";  // where davinciN and the managers are
  std::vector<BindMount> mounts;    // for every job; targets that are missing are created by start()
  std::vector<std::string> hidden_paths;                // directories that jobs see empty, besides `root`
  std::optional<std::vector<Hierarchy>> cgroup_layout;  // nullopt: what this machine has
  std::int64_t ready_timeout_ms = 10'000;               // for prepare()
};

// Needs no privilege to be made; what the machine or the lack of root does not allow is named by
// missing_walls(). Destruction leaves running attempts alone; those that wait for go() end as never started.
std::unique_ptr<Executor> make_process_executor(ProcessExecutorConfig config);

}  // namespace tangram::runner

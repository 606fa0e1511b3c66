// Whose process is it? Told by the control group that the kernel keeps it in.
#pragma once

#include <optional>
#include <string_view>

#include "ports/executor.h"

namespace tangram::runner {

// `memberships`: the text of /proc/<pid>/cgroup. `parent`: the name of the parent group as configured
// ("tangram", "/machine/tangram"). None: no process of an attempt, or no control groups at all. Thread-safe.
std::optional<AttemptKey> attempt_of_memberships(std::string_view memberships, std::string_view parent);

}  // namespace tangram::runner

// What the runner refuses before anything exists: descriptions that cannot be meant.
#pragma once

#include "base/result.h"
#include "ports/executor.h"

namespace tangram::runner {

// kInvalidArgument naming field, value and what would be right. `as_root`: the daemon runs as root.
Result<void> check_launch(const LaunchSpec& spec, bool as_root);

}  // namespace tangram::runner

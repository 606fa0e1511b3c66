// Attempts that are on the disk and that nobody knows: the journal is older than they are.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ports/executor.h"
#include "runner/attempt_dir.h"

namespace tangram::runner {

// Every attempt below `root`, in order; what is named otherwise is passed over.
Result<std::vector<AttemptKey>> list_attempts(const std::string& root);

// Kills its supervisor and all its processes, then renames its directory to `<attempt>.lost-<n>`. Blocks, for
// some seconds at most: kUnavailable "runner.attempt.stuck". `boot_id` is that of the running system.
Result<void> set_aside_attempt(const AttemptDir& dir, const AttemptKey& key, const std::string& boot_id);

}  // namespace tangram::runner

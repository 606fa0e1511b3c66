// What became of an attempt whose supervisor is gone: its record where there is one, else the end of what is
// left.
#pragma once

#include <optional>
#include <string>

#include "ports/executor.h"
#include "runner/attempt_dir.h"

namespace tangram::runner {

// One try, without waiting. nullopt: not over yet, processes of the job are still dying; try again soon.
// Without a record, everything of the job is killed first; then the attempt is recorded as kLost, or as
// kNotStarted when it never got its go, so that a later look finds the same answer. `boot_id` is that of the
// running system. An error: it is over, and that cannot be recorded yet (the disk is full); try again.
Result<std::optional<AttemptExit>> settle_attempt(const AttemptDir& dir, const AttemptKey& key,
                                                  const std::optional<SupervisorIdentity>& identity,
                                                  const std::string& boot_id);

// Whether a supervisor, or a process of the job, may live still; true where that cannot be told. A look only.
bool attempt_may_live(const AttemptDir& dir, const AttemptKey& key);

}  // namespace tangram::runner

// Starting a supervisor from a process that may be large and have many threads.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;
  UniqueFd connection;  // the other end of its kControlFd
};

// Starts `program` [`argument`] with an empty environment, `spec` readable at kSpecFd, a connection at
// kControlFd, `lock` (where valid) at kLockFd, and nothing else. Thread-safe.
Result<Spawned> spawn_supervisor(const std::string& program, const std::string& argument,
                                 const std::string& spec, const UniqueFd& lock);

// Waits for one packet, at most `timeout_ms`.
Result<std::string> wait_for_packet(const UniqueFd& connection, std::int64_t timeout_ms);

// Ends and collects it.
void kill_spawned(Spawned& spawned);

}  // namespace tangram::runner

// One agent on a node: two would each give away what the other has given.
#pragma once

#include <string>

#include "base/result.h"

namespace tangram::kube::node {

// Held while it lives, and no longer than the process.
class AgentLock {
 public:
  // Waits a moment for one that is ending. Errors: kFailedPrecondition "node.agent.twice", or as the system
  // says.
  static Result<AgentLock> take(const std::string& directory);
  ~AgentLock();
  AgentLock(AgentLock&& other) noexcept;
  AgentLock(const AgentLock&) = delete;
  AgentLock& operator=(const AgentLock&) = delete;
  AgentLock& operator=(AgentLock&&) = delete;

 private:
  explicit AgentLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace tangram::kube::node

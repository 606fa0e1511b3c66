#include "kube/node/agent_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace tangram::kube::node {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kRest{100};

}  // namespace

Result<AgentLock> AgentLock::take(const std::string& directory) {
  const std::string path = directory + "/lock";
  AgentLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  if (lock.fd_ < 0) return fail(system_error("cannot open " + path, errno));
  for (int tries = 1; flock(lock.fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return fail(system_error("cannot lock " + path, errno));
    if (tries == kTries) {
      return fail(Code::kFailedPrecondition, "node.agent.twice", "another agent runs with " + directory,
                  "stop that one first; two would each give away what the other has given");
    }
    std::this_thread::sleep_for(kRest);
  }
  return lock;
}

AgentLock::AgentLock(AgentLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

AgentLock::~AgentLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace tangram::kube::node

#include "runner/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/crash_point.h"
#include "runner/control.h"
#include "runner/files.h"
#include "runner/spec.h"

namespace tangram::runner {
namespace {

// Above the numbers that the child gets, so that one dup2 cannot overwrite the source of the next.
constexpr int kOutOfTheWay = 10;

Result<UniqueFd> duplicate_high(int fd) {
  UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, kOutOfTheWay));
  if (!copy.valid()) return fail(system_error("cannot duplicate a descriptor", errno));
  return copy;
}

Result<UniqueFd> move_up(int fd) {
  const UniqueFd old(fd);
  return duplicate_high(fd);
}

Result<UniqueFd> sealed_memory(const std::string& bytes) {
  const int made = memfd_create("tangram-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0) return fail(system_error("cannot create a memory file", errno));
  TG_TRY(UniqueFd fd, move_up(made));
  if (const int error = write_all(fd.get(), bytes); error != 0) {
    return fail(system_error("cannot write a memory file", error));
  }
  fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

class SpawnSettings {
 public:
  SpawnSettings(int spec, int connection, int lock) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions_, 0, 1);
    posix_spawn_file_actions_adddup2(&actions_, 0, 2);
    posix_spawn_file_actions_adddup2(&actions_, spec, kSpecFd);
    posix_spawn_file_actions_adddup2(&actions_, connection, kControlFd);
    if (lock >= 0) posix_spawn_file_actions_adddup2(&actions_, lock, kLockFd);
    posix_spawn_file_actions_addchdir_np(&actions_, "/");
    posix_spawnattr_init(&attributes_);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Empty but for what a test build needs to reach its crash points.
std::vector<std::string> supervisor_environment() {
  std::vector<std::string> environment;
#ifdef TANGRAM_CRASH_POINTS
  if (const char* const at = std::getenv("TANGRAM_CRASH_AT"); at != nullptr) {
    environment.push_back(std::string("TANGRAM_CRASH_AT=") + at);
  }
#endif
  return environment;
}

}  // namespace

Result<Spawned> spawn_supervisor(const std::string& program, const std::string& argument,
                                 const std::string& spec, const UniqueFd& lock) {
  TG_TRY(const UniqueFd memory, sealed_memory(spec));
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(system_error("cannot make a socket pair", errno));
  }
  Spawned spawned;
  spawned.connection = UniqueFd(ends[0]);
  TG_TRY(const UniqueFd child_end, move_up(ends[1]));
  UniqueFd lock_copy;
  if (lock.valid()) {
    TG_TRY(lock_copy, duplicate_high(lock.get()));
  }
  const SpawnSettings settings(memory.get(), child_end.get(), lock_copy.get());
  std::string name = program;
  std::string first = argument;
  std::vector<char*> arguments = {name.data()};
  if (!first.empty()) arguments.push_back(first.data());
  arguments.push_back(nullptr);
  std::vector<std::string> environment = supervisor_environment();
  std::vector<char*> environment_pointers;
  environment_pointers.reserve(environment.size() + 1);
  for (std::string& entry : environment) environment_pointers.push_back(entry.data());
  environment_pointers.push_back(nullptr);
  const int error = posix_spawn(&spawned.pid, program.c_str(), settings.actions(), settings.attributes(),
                                arguments.data(), environment_pointers.data());
  if (error != 0) {
    return fail(system_error("cannot start " + program, error));
  }
  Result<UniqueFd> pidfd = open_pidfd(spawned.pid);
  if (!pidfd) {
    kill_spawned(spawned);
    return fail(std::move(pidfd).error());
  }
  spawned.pidfd = std::move(*pidfd);
  return spawned;
}

Result<std::string> wait_for_packet(const UniqueFd& connection, std::int64_t timeout_ms) {
  const std::int64_t deadline = boot_time_ms() + timeout_ms;
  for (;;) {
    std::string packet;
    switch (receive_packet(connection.get(), packet)) {
      case Received::kPacket:
        return packet;
      case Received::kEnd:
        return fail(Code::kUnavailable, "runner.supervisor.gone", "the supervisor ended before it was ready");
      case Received::kNothing:
        break;
    }
    const std::int64_t left = deadline - boot_time_ms();
    if (left <= 0) {
      return fail(Code::kDeadlineExceeded, "runner.supervisor.slow",
                  "the supervisor was not ready after " + std::to_string(timeout_ms) + " ms");
    }
    pollfd watched = {connection.get(), POLLIN, 0};
    poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
  }
}

void kill_spawned(Spawned& spawned) {
  if (spawned.pid <= 0) return;
  kill(spawned.pid, SIGKILL);
  waitpid(spawned.pid, nullptr, 0);
  spawned.pid = -1;
}

}  // namespace tangram::runner

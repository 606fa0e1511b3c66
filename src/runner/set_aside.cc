#include "runner/set_aside.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

#include "runner/control.h"
#include "runner/files.h"
#include "runner/settle.h"

namespace tangram::runner {
namespace {

constexpr std::int64_t kPatienceMs = 10'000;
constexpr useconds_t kPauseUs = 10'000;
constexpr int kNamesMax = 10'000;

bool is_locked(const AttemptDir& dir) {
  const Result<std::optional<UniqueFd>> lock = try_lock(dir.lock());
  return lock && !lock->has_value();
}

// Best effort: it may not listen yet, or have ended in between.
void kill_supervisor(const AttemptDir& dir) {
  const Result<UniqueFd> connection = connect_to(dir.control());
  if (!connection) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  const Result<UniqueFd> process = open_pidfd(peer.pid);
  // Still locked after the handle was made: it is the holder's and not that of a successor of its pid.
  if (process && is_locked(dir)) syscall(SYS_pidfd_send_signal, process->get(), SIGKILL, nullptr, 0U);
}

Result<void> end_everything(const AttemptDir& dir, const AttemptKey& key, const std::string& boot_id) {
  for (const std::int64_t until = boot_time_ms() + kPatienceMs; boot_time_ms() < until; usleep(kPauseUs)) {
    if (is_locked(dir)) {
      kill_supervisor(dir);
      continue;
    }
    TG_TRY(const std::optional<AttemptExit> ended, settle_attempt(dir, key, std::nullopt, boot_id));
    if (ended) return {};
  }
  return fail(Code::kUnavailable, "runner.attempt.stuck",
              "processes of " + key.job + ", which the journal does not know, do not end",
              "end them by hand; they are named by " + dir.path);
}

std::optional<std::int32_t> attempt_number(const std::string& name) {
  std::int32_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<AttemptKey>> list_attempts(const std::string& root) {
  std::vector<AttemptKey> keys;
  std::error_code problem;
  for (const auto& job : std::filesystem::directory_iterator(root + "/jobs", problem)) {
    std::error_code gone;  // not a directory, or removed meanwhile
    for (const auto& attempt : std::filesystem::directory_iterator(job.path(), gone)) {
      const auto number = attempt_number(attempt.path().filename().string());
      if (!number) continue;
      AttemptKey key{job.path().filename().string(), *number};
      if (check_key(key)) keys.push_back(std::move(key));
    }
  }
  if (problem) return fail(system_error("cannot list " + root + "/jobs", problem.value()));
  std::sort(keys.begin(), keys.end());
  return keys;
}

Result<void> set_aside_attempt(const AttemptDir& dir, const AttemptKey& key, const std::string& boot_id) {
  TG_TRY_VOID(end_everything(dir, key, boot_id));
  for (int number = 1; number < kNamesMax; ++number) {
    const std::string aside = dir.path + ".lost-" + std::to_string(number);
    if (access(aside.c_str(), F_OK) == 0) continue;
    if (rename(dir.path.c_str(), aside.c_str()) != 0)
      return fail(system_error("cannot rename " + dir.path, errno));
    return {};
  }
  return fail(Code::kUnavailable, "runner.attempt.stuck", "no name is free beside " + dir.path,
              "remove what was set aside there");
}

}  // namespace tangram::runner

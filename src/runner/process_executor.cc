#include "runner/process_executor.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>

#include "base/crash_point.h"
#include "base/invariant.h"
#include "base/log.h"
#include "runner/attempt_dir.h"
#include "runner/control.h"
#include "runner/files.h"
#include "runner/launch.h"
#include "runner/launch_check.h"
#include "runner/process_owner.h"
#include "runner/remove_tree.h"
#include "runner/set_aside.h"
#include "runner/settle.h"
#include "runner/walls.h"

namespace tangram::runner {
namespace {

constexpr std::uint64_t kWakeToken = 0;
constexpr std::int64_t kRetryMsMin = 5;
constexpr std::int64_t kRetryMsMax = 200;
constexpr std::int64_t kStuckWarningMs = 10'000;

// One attempt whose end has not been told yet.
struct Attempt {
  enum class Phase : std::uint8_t {
    kPreparing,  // inside prepare()
    kLooking,    // adopted, its supervisor not yet reached or known to be gone
    kWatched,    // connected; its process handle will tell the end
    kEmptying,   // supervisor gone without a record: until nothing of the job is left
  };

  Phase phase = Phase::kPreparing;
  std::uint64_t number = 0;  // token of its descriptors in epoll: 2n the connection, 2n+1 the process
  AttemptDir dir;
  UniqueFd connection;
  UniqueFd pidfd;
  std::optional<SupervisorIdentity> identity;
  bool said_running = false;
  std::optional<StopReason> pending_stop;
  std::int64_t next_try_ms = 0;
  std::int64_t pause_ms = kRetryMsMin;
  std::int64_t emptying_since_ms = 0;
  bool warned = false;
};

// Calls of the sink, collected under the lock and made outside of it.
using Calls = std::vector<std::function<void()>>;

class ProcessExecutor final : public Executor {
 public:
  explicit ProcessExecutor(ProcessExecutorConfig config) : config_(std::move(config)) {}
  ProcessExecutor(const ProcessExecutor&) = delete;
  ProcessExecutor& operator=(const ProcessExecutor&) = delete;
  ~ProcessExecutor() override;

  Result<void> start(ExecutorSink sink) override;
  Result<SupervisorIdentity> prepare(const LaunchSpec& spec) override;
  Result<void> go(const AttemptKey& key) override;
  Result<void> stop(const AttemptKey& key, StopReason reason) override;
  Result<void> adopt(const AttemptKey& key, const std::optional<SupervisorIdentity>& identity) override;
  Result<void> remove(const AttemptKey& key) override;
  Result<std::vector<AttemptKey>> attempts_on_disk() const override { return list_attempts(config_.root); }
  Result<void> set_aside(const AttemptKey& key) override;
  std::string log_path(const AttemptKey& key) const override { return attempt_dir(config_.root, key).log(); }
  bool gives_private_devices() const override { return walls_.walls.namespaces; }
  std::vector<std::string> missing_walls() const override { return walls_.missing; }
  Result<std::optional<AttemptKey>> owner_of(std::int64_t pid) const override;
  bool may_live(const AttemptKey& key) const override;

 private:
  Result<void> reserve(const AttemptKey& key, Attempt::Phase phase,
                       const std::optional<SupervisorIdentity>& identity);
  void forget(const AttemptKey& key);
  Result<SupervisorIdentity> take_in(const AttemptKey& key, Spawned& spawned);
  // Takes both descriptors, unless it fails.
  Result<void> watch(const AttemptKey& key, Attempt& attempt, UniqueFd& connection, UniqueFd& pidfd);
  Result<void> check_ended(const AttemptKey& key) const;
  void wake() const;

  void run();
  int wait_ms() const;
  void on_event(std::uint64_t token, Calls& calls);
  void on_time(Calls& calls);
  void read_connection(const AttemptKey& key, Attempt& attempt, Calls& calls);
  bool look(const AttemptKey& key, Attempt& attempt, Calls& calls);
  void reach(const AttemptKey& key, Attempt& attempt);
  bool settle(const AttemptKey& key, Attempt& attempt, Calls& calls);
  void later(Attempt& attempt) const;

  const ProcessExecutorConfig config_;
  bool as_root_ = false;
  std::string boot_id_;
  MachineWalls walls_;
  std::vector<UniqueFd> claims_;
  ExecutorSink sink_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::thread thread_;

  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::uint64_t next_number_ = 1;
  std::map<AttemptKey, Attempt> attempts_;
  std::map<std::uint64_t, AttemptKey> by_number_;
};

ProcessExecutor::~ProcessExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (!thread_.joinable()) return;
  wake();
  thread_.join();
}

Result<void> ProcessExecutor::start(ExecutorSink sink) {
  TG_ASSERT(!thread_.joinable(), "start() is called once");
  sink_ = std::move(sink);
  as_root_ = geteuid() == 0;
  TG_TRY(boot_id_, read_boot_id());
  // Others may pass through (to their own work directory, where there are no namespaces), but not list.
  TG_TRY_VOID(make_directories(config_.root, 0755));
  TG_TRY_VOID(make_directory(config_.root + "/jobs", 0711));
  TG_TRY(walls_, find_walls(config_));
  TG_TRY(claims_, walls_.cgroups.claim());
  // The owner of the state directory may have closed it, which is one wall more where jobs have their own
  // mounts.
  if (walls_.walls.user && !walls_.walls.namespaces) TG_TRY_VOID(allow_passage(config_.root));
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeToken;
  if (!epoll_.valid() || !wake_.valid() || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    return fail(system_error("cannot watch supervisors", errno));
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

Result<std::optional<AttemptKey>> ProcessExecutor::owner_of(std::int64_t pid) const {
  if (walls_.cgroups.paths().empty()) {
    return fail(Code::kUnavailable, "runner.cgroup.missing",
                "whose a process is cannot be told without control groups");
  }
  const auto memberships = read_file("/proc/" + std::to_string(pid) + "/cgroup");
  if (!memberships) return std::optional<AttemptKey>();
  return attempt_of_memberships(*memberships, config_.cgroup_parent);
}

bool ProcessExecutor::may_live(const AttemptKey& key) const {
  return attempt_may_live(attempt_dir(config_.root, key), key);
}

Result<void> ProcessExecutor::reserve(const AttemptKey& key, Attempt::Phase phase,
                                      const std::optional<SupervisorIdentity>& identity) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = attempts_.try_emplace(key);
  if (!is_new) {
    return fail(Code::kAlreadyExists, "runner.attempt.exists",
                "attempt " + std::to_string(key.attempt) + " of " + key.job + " is already known");
  }
  place->second.phase = phase;
  place->second.identity = identity;
  place->second.dir = attempt_dir(config_.root, key);
  place->second.number = next_number_++;
  by_number_[place->second.number] = key;
  return {};
}

void ProcessExecutor::forget(const AttemptKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(key);
  by_number_.erase(found->second.number);
  attempts_.erase(found);
}

Result<SupervisorIdentity> ProcessExecutor::prepare(const LaunchSpec& spec) {
  TG_TRY_VOID(check_launch(spec, as_root_));
  // The driver shows a slice to a container only: on the host there are whole NPUs.
  if (spec.slice && !gives_private_devices()) {
    return fail(
        Code::kFailedPrecondition, "runner.slice.no_private_devices",
        "a slice cannot be given to " + spec.key.job + ": its jobs have no /dev of their own on this machine",
        "run tangramd as root, where mount and PID namespaces are allowed");
  }
  TG_TRY_VOID(reserve(spec.key, Attempt::Phase::kPreparing, std::nullopt));
  Result<SupervisorIdentity> result = [&]() -> Result<SupervisorIdentity> {
    TG_TRY(Spawned spawned, launch_supervisor(config_, walls_, spec));
    auto taken = take_in(spec.key, spawned);
    if (!taken) discard_launch(config_, spec.key, spawned);
    return taken;
  }();
  if (result) return result;
  forget(spec.key);
  return fail(wrap("cannot prepare attempt " + std::to_string(spec.key.attempt) + " of " + spec.key.job,
                   std::move(result).error()));
}

Result<SupervisorIdentity> ProcessExecutor::take_in(const AttemptKey& key, Spawned& spawned) {
  SupervisorIdentity identity{spawned.pid, 0, boot_id_};
  TG_TRY(identity.start_ticks, read_start_ticks(spawned.pid));
  const std::lock_guard lock(mutex_);
  Attempt& attempt = attempts_.at(key);
  attempt.identity = identity;
  TG_TRY_VOID(watch(key, attempt, spawned.connection, spawned.pidfd));
  return identity;
}

Result<void> ProcessExecutor::watch(const AttemptKey& key, Attempt& attempt, UniqueFd& connection,
                                    UniqueFd& pidfd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = attempt.number * 2;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.get(), &event) != 0) {
    return fail(system_error("cannot watch the supervisor of " + key.job, errno));
  }
  event.data.u64 = attempt.number * 2 + 1;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd.get(), &event) != 0) {
    return fail(system_error("cannot watch the supervisor of " + key.job, errno));
  }
  attempt.connection = std::move(connection);
  attempt.pidfd = std::move(pidfd);
  attempt.phase = Attempt::Phase::kWatched;
  if (attempt.pending_stop) send_packet(attempt.connection.get(), stop_word(*attempt.pending_stop));
  return {};
}

// For a key that is not among the attempts in flight: it has ended, or never was.
Result<void> ProcessExecutor::check_ended(const AttemptKey& key) const {
  const std::string path = attempt_dir(config_.root, key).path;
  if (access(path.c_str(), F_OK) == 0) return {};
  return fail(Code::kNotFound, "runner.attempt.unknown",
              "there is no attempt " + std::to_string(key.attempt) + " of " + key.job);
}

Result<void> ProcessExecutor::go(const AttemptKey& key) {
  TG_TRY_VOID(check_key(key));
  TG_CRASH_POINT("runner.before_go");
  {
    const std::lock_guard lock(mutex_);
    const auto found = attempts_.find(key);
    if (found == attempts_.end()) return check_ended(key);
    // Without a connection it is being adopted: it runs, or it will never start, and its end will be told.
    if (found->second.connection.valid()) send_packet(found->second.connection.get(), kGo);
  }
  TG_CRASH_POINT("runner.after_go");
  return {};
}

Result<void> ProcessExecutor::stop(const AttemptKey& key, StopReason reason) {
  TG_TRY_VOID(check_key(key));
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(key);
  if (found == attempts_.end()) return check_ended(key);
  found->second.pending_stop = reason;
  if (found->second.connection.valid()) send_packet(found->second.connection.get(), stop_word(reason));
  return {};
}

Result<void> ProcessExecutor::adopt(const AttemptKey& key,
                                    const std::optional<SupervisorIdentity>& identity) {
  TG_TRY_VOID(check_key(key));
  TG_TRY_VOID(reserve(key, Attempt::Phase::kLooking, identity));
  wake();
  return {};
}

Result<void> ProcessExecutor::remove(const AttemptKey& key) {
  TG_TRY_VOID(check_key(key));
  const AttemptDir dir = attempt_dir(config_.root, key);
  {
    const std::lock_guard lock(mutex_);
    if (attempts_.contains(key)) {
      return fail(Code::kFailedPrecondition, "runner.attempt.live",
                  "attempt " + std::to_string(key.attempt) + " of " + key.job + " has not ended");
    }
  }
  TG_TRY_VOID(check_ended(key));
  TG_TRY(const std::optional<UniqueFd> lock, try_lock(dir.lock()));
  if (!lock) {
    return fail(Code::kFailedPrecondition, "runner.attempt.live",
                dir.path + " is held by a supervisor: adopt it first");
  }
  if (const Result<std::vector<CgroupDir>> groups = read_cgroup_list(dir, key)) Cgroup(*groups).remove();
  TG_TRY_VOID(remove_tree(dir.path));
  // Other attempts of the job may be there still.
  rmdir((config_.root + "/jobs/" + key.job).c_str());
  return {};
}

Result<void> ProcessExecutor::set_aside(const AttemptKey& key) {
  TG_TRY_VOID(check_key(key));
  return set_aside_attempt(attempt_dir(config_.root, key), key, boot_id_);
}

void ProcessExecutor::wake() const {
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void ProcessExecutor::run() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    int timeout = 0;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      timeout = wait_ms();
    }
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout);
    std::uint64_t woken = 0;
    (void)!read(wake_.get(), &woken, sizeof woken);
    Calls calls;
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < count; ++i) on_event(events[static_cast<std::size_t>(i)].data.u64, calls);
      on_time(calls);
    }
    for (const auto& call : calls) call();
  }
}

int ProcessExecutor::wait_ms() const {
  std::int64_t until = kUnlimited;
  for (const auto& [key, attempt] : attempts_) {
    const bool timed =
        attempt.phase == Attempt::Phase::kLooking || attempt.phase == Attempt::Phase::kEmptying;
    if (timed) until = std::min(until, attempt.next_try_ms);
  }
  if (until == kUnlimited) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(until - boot_time_ms(), 0, kRetryMsMax));
}

void ProcessExecutor::on_event(std::uint64_t token, Calls& calls) {
  const auto known = by_number_.find(token / 2);
  if (known == by_number_.end()) return;
  const AttemptKey key = known->second;
  Attempt& attempt = attempts_.at(key);
  if (attempt.phase != Attempt::Phase::kWatched) return;
  read_connection(key, attempt, calls);
  if (token % 2 == 0) return;
  // Ours or, after an adoption, not: then there is nothing to collect.
  waitid(P_PIDFD, static_cast<id_t>(attempt.pidfd.get()), nullptr, WEXITED | WNOHANG);
  attempt.pidfd.reset();
  attempt.connection.reset();
  if (!settle(key, attempt, calls)) return;
  by_number_.erase(known);
  attempts_.erase(key);
}

void ProcessExecutor::on_time(Calls& calls) {
  const std::int64_t now = boot_time_ms();
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    Attempt& attempt = at->second;
    const bool looking = attempt.phase == Attempt::Phase::kLooking;
    const bool emptying = attempt.phase == Attempt::Phase::kEmptying;
    bool over = false;
    if ((looking || emptying) && attempt.next_try_ms <= now) {
      over = looking ? look(at->first, attempt, calls) : settle(at->first, attempt, calls);
    }
    if (over) by_number_.erase(attempt.number);
    at = over ? attempts_.erase(at) : std::next(at);
  }
}

void ProcessExecutor::read_connection(const AttemptKey& key, Attempt& attempt, Calls& calls) {
  std::string packet;
  while (attempt.connection.valid()) {
    switch (receive_packet(attempt.connection.get(), packet)) {
      case Received::kNothing:
        return;
      case Received::kEnd:
        attempt.connection.reset();
        return;
      case Received::kPacket:
        break;
    }
    if (packet != kStateRunning || attempt.said_running) continue;
    attempt.said_running = true;
    calls.emplace_back([this, key] { sink_.running(key); });
  }
}

void ProcessExecutor::later(Attempt& attempt) const {
  attempt.next_try_ms = boot_time_ms() + attempt.pause_ms;
  attempt.pause_ms = std::min(attempt.pause_ms * 2, kRetryMsMax);
}

// True when the attempt is over and told.
bool ProcessExecutor::look(const AttemptKey& key, Attempt& attempt, Calls& calls) {
  if (access(attempt.dir.path.c_str(), F_OK) != 0) return settle(key, attempt, calls);
  const Result<std::optional<UniqueFd>> lock = try_lock(attempt.dir.lock());
  if (lock && lock->has_value()) return settle(key, attempt, calls);
  if (lock) reach(key, attempt);
  if (attempt.phase == Attempt::Phase::kLooking) later(attempt);
  return false;
}

// A supervisor lives: it holds the lock. It may not answer yet, or not any more.
void ProcessExecutor::reach(const AttemptKey& key, Attempt& attempt) {
  Result<UniqueFd> connection = connect_to(attempt.dir.control());
  if (!connection) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  Result<UniqueFd> pidfd = open_pidfd(peer.pid);
  if (!pidfd) return;
  // Still locked after the handle was made, so the handle is that of the holder and not of a successor of its
  // pid.
  const Result<std::optional<UniqueFd>> lock = try_lock(attempt.dir.lock());
  if (!lock || lock->has_value()) return;
  if (attempt.identity && attempt.identity->pid != peer.pid) {
    log::warn("the supervisor of " + key.job + " is process " + std::to_string(peer.pid) + ", not " +
              std::to_string(attempt.identity->pid) + " as noted");
  }
  send_packet(connection->get(), kStatus);
  if (const Result<void> watched = watch(key, attempt, *connection, *pidfd); !watched) {
    log::warn(watched.error().to_string());
  }
}

// The supervisor is gone. True when the attempt is over and told.
bool ProcessExecutor::settle(const AttemptKey& key, Attempt& attempt, Calls& calls) {
  const std::int64_t now = boot_time_ms();
  if (attempt.phase != Attempt::Phase::kEmptying) {
    attempt.phase = Attempt::Phase::kEmptying;
    attempt.emptying_since_ms = now;
    attempt.pause_ms = kRetryMsMin;
  }
  const Result<std::optional<AttemptExit>> record =
      settle_attempt(attempt.dir, key, attempt.identity, boot_id_);
  const std::optional<AttemptExit> ended = record ? *record : std::nullopt;
  if (ended) {
    calls.emplace_back([this, exit = *ended] { sink_.exited(exit); });
    return true;
  }
  if (!record && !attempt.warned) {
    attempt.warned = true;
    log::warn("the end of " + key.job + " cannot be recorded yet: " + record.error().to_string());
  }
  if (!attempt.warned && now - attempt.emptying_since_ms > kStuckWarningMs) {
    attempt.warned = true;
    log::warn("processes of " + key.job + " do not end although they were killed; its NPUs stay taken");
  }
  later(attempt);
  return false;
}

}  // namespace

std::unique_ptr<Executor> make_process_executor(ProcessExecutorConfig config) {
  return std::make_unique<ProcessExecutor>(std::move(config));
}

}  // namespace tangram::runner

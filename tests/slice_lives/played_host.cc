#include "slice_lives/played_host.h"

#include <algorithm>

namespace tangram::lives {
namespace {

constexpr std::int64_t kLingerMsMax = 3'000;

tl::unexpected<Error> unknown(const AttemptKey& key) {
  return fail(Code::kNotFound, "runner.attempt.unknown", "no such attempt: " + key.job);
}

}  // namespace

std::vector<AttemptKey> PlayedHost::running() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, attempt] : attempts_) {
    if (attempt.alive && attempt.released) keys.push_back(key);
  }
  return keys;
}

bool PlayedHost::may_live(const AttemptKey& key) const {
  const auto found = attempts_.find(key);
  return found != attempts_.end() && (found->second.alive || fate_.now() < found->second.lingers_until);
}

bool PlayedHost::uses(std::uint32_t slice) const {
  return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& one) {
    const Attempt& attempt = one.second;
    const bool lives = attempt.alive || fate_.now() < attempt.lingers_until;
    return lives && attempt.touched && attempt.spec.slice && attempt.spec.slice->id == slice;
  });
}

void PlayedHost::end(const AttemptKey& key, Outcome outcome, std::optional<int> status) {
  Attempt& attempt = attempts_.at(key);
  if (attempt.exit) return;
  AttemptExit exit;
  exit.key = key;
  exit.outcome = outcome;
  exit.exit_status = status;
  exit.released = attempt.released;
  attempt.exit = exit;
  attempt.alive = false;
  attempt.lingers_until = fate_.in(static_cast<std::int64_t>(fate_.pick(kLingerMsMax)));
  fate_.note("ends " + key.job);
  tell_exit(exit);
}

bool PlayedHost::kill_waiting() {
  for (const auto& [key, attempt] : attempts_) {
    if (!attempt.alive || attempt.released) continue;
    end(key, Outcome::kNotStarted);
    return true;
  }
  return false;
}

void PlayedHost::tell_exit(const AttemptExit& exit) {
  if (!sink_) return;
  events_.emplace_back([exit](const ExecutorSink& sink) { sink.exited(exit); });
}

void PlayedHost::daemon_died() {
  sink_.reset();
  events_.clear();
  for (auto& [key, attempt] : attempts_) {
    if (attempt.alive && !attempt.released) {
      attempt.alive = false;
      attempt.lingers_until = fate_.in(static_cast<std::int64_t>(fate_.pick(kLingerMsMax)));
    }
  }
}

void PlayedHost::reboot() {
  for (auto& [key, attempt] : attempts_) {
    attempt.alive = false;
    attempt.lingers_until = TimeMs();
  }
}

bool PlayedHost::step() {
  if (!sink_ || events_.empty()) return false;
  const Event event = std::move(events_.front());
  events_.pop_front();
  event(*sink_);
  return true;
}

PlayedExecutor::~PlayedExecutor() {
  host_.sink_.reset();
  host_.events_.clear();
}

Result<void> PlayedExecutor::start(ExecutorSink sink) {
  host_.sink_ = std::move(sink);
  return {};
}

Result<SupervisorIdentity> PlayedExecutor::prepare(const LaunchSpec& spec) {
  Fate& fate = host_.fate_;
  fate.pass("runner.before_spawn");
  if (fate.happens("no room for a supervisor", 60)) {
    return fail(Code::kResourceExhausted, "system.errno", "no space left on device");
  }
  fate.meanwhile();
  const auto [place, is_new] = host_.attempts_.try_emplace(spec.key);
  if (!is_new) return fail(Code::kAlreadyExists, "runner.attempt.exists", "the attempt is there already");
  place->second.spec = spec;
  place->second.pid = ++host_.last_pid_;
  fate.pass("runner.after_spawn");
  return SupervisorIdentity{static_cast<pid_t>(place->second.pid), 7, "boot"};
}

Result<void> PlayedExecutor::go(const AttemptKey& key) {
  Fate& fate = host_.fate_;
  fate.pass("runner.before_go");
  const auto found = host_.attempts_.find(key);
  if (found == host_.attempts_.end()) return unknown(key);
  PlayedHost::Attempt& attempt = found->second;
  if (attempt.released || !attempt.alive) return {};
  attempt.released = true;
  if (fate.dies_at("supervise.before_exec", 50)) {
    host_.end(key, Outcome::kLost);
  } else {
    if (host_.on_start) host_.on_start(key, attempt);
    host_.events_.emplace_back([key](const ExecutorSink& sink) { sink.running(key); });
  }
  fate.pass("runner.after_go");
  return {};
}

Result<void> PlayedExecutor::stop(const AttemptKey& key, StopReason reason) {
  if (!host_.attempts_.contains(key)) return unknown(key);
  host_.end(key, reason == StopReason::kCancelled ? Outcome::kCancelled : Outcome::kDeviceLost);
  return {};
}

Result<void> PlayedExecutor::adopt(const AttemptKey& key,
                                   const std::optional<SupervisorIdentity>& /*identity*/) {
  const auto found = host_.attempts_.find(key);
  const bool known = found != host_.attempts_.end();
  if (known && found->second.alive && found->second.released) {
    host_.events_.emplace_back([key](const ExecutorSink& sink) { sink.running(key); });
    return {};
  }
  AttemptExit exit;
  exit.key = key;
  if (known && found->second.exit) {
    exit = *found->second.exit;
  } else if (known && found->second.released) {
    exit.outcome = Outcome::kLost;  // the machine went down
  } else {
    exit.outcome = Outcome::kNotStarted;
    exit.released = false;
  }
  if (known) found->second.exit = exit;
  host_.tell_exit(exit);
  return {};
}

Result<void> PlayedExecutor::remove(const AttemptKey& key) {
  return host_.attempts_.erase(key) == 0 ? Result<void>(unknown(key)) : Result<void>();
}

Result<std::vector<AttemptKey>> PlayedExecutor::attempts_on_disk() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, attempt] : host_.attempts_) keys.push_back(key);
  return keys;
}

Result<void> PlayedExecutor::set_aside(const AttemptKey& key) {
  host_.fate_.broken("an attempt that the journal does not know: " + key.job);
  host_.attempts_.erase(key);
  return {};
}

std::string PlayedExecutor::log_path(const AttemptKey& key) const {
  return key.job;
}

Result<std::optional<AttemptKey>> PlayedExecutor::owner_of(std::int64_t pid) const {
  for (const auto& [key, attempt] : host_.attempts_) {
    if (attempt.pid == pid) return key;
  }
  return std::nullopt;
}

}  // namespace tangram::lives

#include "service/fakes.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace tangram::service::testing {

// ---- store

Result<std::uint64_t> FakeStore::append(std::span<const NewRecord> records) {
  const std::lock_guard lock(mutex_);
  if (full_) return fail(Code::kUnavailable, "journal.disk_full", "cannot write the journal: no space left");
  if (dead_) return fail(Code::kUnavailable, "journal.dead", "the machine is off");
  ++appends_;
  const std::uint64_t first = records_.size() + 1;
  for (const NewRecord& record : records) {
    if (records_max_ && records_.size() >= *records_max_) {
      dead_ = true;
      return fail(Code::kUnavailable, "journal.dead", "the machine is off");
    }
    records_.push_back({records_.size() + 1, record.at, record.kind, record.body});
  }
  return first;
}

Result<void> FakeStore::read_after(std::uint64_t sequence,
                                   const std::function<Result<void>(const StoredRecord&)>& visit) {
  for (const StoredRecord& record : records()) {
    if (record.sequence > sequence) TG_TRY_VOID(visit(record));
  }
  return {};
}

Result<void> FakeStore::save_snapshot(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  if (full_ || dead_) return fail(Code::kUnavailable, "journal.disk_full", "cannot write the snapshot");
  snapshot_ = snapshot;
  return {};
}

Result<std::optional<Snapshot>> FakeStore::latest_snapshot() {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

Result<void> FakeStore::compact(TimeMs /*before*/) {
  return {};
}

void FakeStore::set_full(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}

std::vector<StoredRecord> FakeStore::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

std::vector<std::string> FakeStore::kinds() const {
  std::vector<std::string> kinds;
  for (const StoredRecord& record : records()) kinds.push_back(record.kind);
  return kinds;
}

std::size_t FakeStore::count(const std::string& kind) const {
  const auto all = kinds();
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), kind));
}

std::uint64_t FakeStore::appends() const {
  const std::lock_guard lock(mutex_);
  return appends_;
}

bool FakeStore::has_snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_.has_value();
}

void FakeStore::cut(std::size_t count) {
  const std::lock_guard lock(mutex_);
  records_.resize(count);
}

void FakeStore::drop_snapshot() {
  const std::lock_guard lock(mutex_);
  snapshot_.reset();
}

void FakeStore::die_after(std::size_t count) {
  const std::lock_guard lock(mutex_);
  records_max_ = count;
}

bool FakeStore::dead() const {
  const std::lock_guard lock(mutex_);
  return dead_;
}

void FakeStore::revive() {
  const std::lock_guard lock(mutex_);
  dead_ = false;
  records_max_.reset();
}

// ---- processes

void FakeWorld::daemon_died() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, process] : processes_) {
    if (!process.released) process.alive = false;
  }
}

void FakeWorld::finish(const AttemptKey& key, Outcome outcome, int exit_status) {
  ExecutorSink sink;
  AttemptExit exit;
  {
    const std::lock_guard lock(mutex_);
    Process& process = processes_.at(key);
    if (process.exit) return;
    exit.key = key;
    exit.outcome = outcome;
    exit.exit_status = exit_status;
    exit.message = "exited with status " + std::to_string(exit_status);
    process.exit = exit;
    process.alive = false;
    if (connected_) sink = sink_;
  }
  if (sink.exited) sink.exited(exit);
}

std::optional<FakeWorld::Process> FakeWorld::process(const AttemptKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = processes_.find(key);
  if (found == processes_.end()) return std::nullopt;
  return found->second;
}

std::vector<AttemptKey> FakeWorld::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<AttemptKey> keys;
  for (const auto& [key, process] : processes_) keys.push_back(key);
  return keys;
}

int FakeWorld::executions(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (const auto& [key, process] : processes_) count += key.job == job && process.released ? 1 : 0;
  return count;
}

bool FakeWorld::overlap_seen() const {
  const std::lock_guard lock(mutex_);
  return overlap_;
}

void FakeWorld::lose_before_go(const AttemptKey& key) {
  ExecutorSink sink;
  AttemptExit exit;
  {
    const std::lock_guard lock(mutex_);
    Process& process = processes_.at(key);
    process.released = false;
    process.alive = false;
    exit.key = key;
    exit.outcome = Outcome::kNotStarted;
    exit.released = false;
    process.exit = exit;
    sink = sink_;
  }
  sink.exited(exit);
}

// ---- executor

FakeExecutor::~FakeExecutor() {
  const std::lock_guard lock(world_.mutex_);
  world_.connected_ = false;
  world_.sink_ = {};
}

Result<void> FakeExecutor::start(ExecutorSink sink) {
  const std::lock_guard lock(world_.mutex_);
  world_.sink_ = std::move(sink);
  world_.connected_ = true;
  return {};
}

Result<SupervisorIdentity> FakeExecutor::prepare(const LaunchSpec& spec) {
  while (hold_prepare) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard lock(world_.mutex_);
  if (disk_full) return fail(Code::kResourceExhausted, "system.errno", "no space left on device");
  if (refuse_prepare) return fail(Code::kUnavailable, "runner.refused", "cannot start a supervisor");
  const auto [place, is_new] = world_.processes_.try_emplace(spec.key);
  if (!is_new) return fail(Code::kAlreadyExists, "runner.attempt.exists", "the attempt is there already");
  place->second.spec = spec;
  return SupervisorIdentity{static_cast<pid_t>(world_.processes_.size() + 100), 7, "boot"};
}

Result<void> FakeExecutor::go(const AttemptKey& key) {
  ExecutorSink sink;
  {
    const std::lock_guard lock(world_.mutex_);
    const auto found = world_.processes_.find(key);
    if (found == world_.processes_.end())
      return fail(Code::kNotFound, "runner.attempt.unknown", "no such attempt");
    FakeWorld::Process& process = found->second;
    if (process.released || !process.alive) return {};
    process.released = true;
    for (const auto& [other_key, other] : world_.processes_) {
      if (other_key == key || !other.alive || !other.released) continue;
      for (const std::uint32_t npu : other.spec.npus) {
        const auto& own = process.spec.npus;
        if (std::find(own.begin(), own.end(), npu) != own.end()) world_.overlap_ = true;
      }
    }
    sink = world_.sink_;
  }
  if (sink.running) sink.running(key);
  return {};
}

Result<void> FakeExecutor::stop(const AttemptKey& key, StopReason reason) {
  ExecutorSink sink;
  AttemptExit exit;
  {
    const std::lock_guard lock(world_.mutex_);
    const auto found = world_.processes_.find(key);
    if (found == world_.processes_.end())
      return fail(Code::kNotFound, "runner.attempt.unknown", "no such attempt");
    FakeWorld::Process& process = found->second;
    process.stops.push_back(reason);
    if (process.exit) return {};
    exit.key = key;
    exit.outcome = reason == StopReason::kCancelled ? Outcome::kCancelled : Outcome::kDeviceLost;
    exit.message = "stopped";
    process.exit = exit;
    process.alive = false;
    sink = world_.sink_;
  }
  if (sink.exited) sink.exited(exit);
  return {};
}

Result<void> FakeExecutor::adopt(const AttemptKey& key,
                                 const std::optional<SupervisorIdentity>& /*identity*/) {
  ExecutorSink sink;
  AttemptExit exit;
  bool running = false;
  {
    const std::lock_guard lock(world_.mutex_);
    sink = world_.sink_;
    const auto found = world_.processes_.find(key);
    const bool known = found != world_.processes_.end();
    running = known && found->second.released && found->second.alive;
    exit.key = key;
    if (known && found->second.exit) {
      exit = *found->second.exit;
    } else if (!known || !found->second.released) {
      exit.outcome = Outcome::kNotStarted;
      exit.released = false;
      exit.message = "never got its go";
      if (known) found->second.exit = exit;
    }
  }
  if (running) {
    sink.running(key);
  } else {
    sink.exited(exit);
  }
  return {};
}

Result<void> FakeExecutor::remove(const AttemptKey& key) {
  const std::lock_guard lock(world_.mutex_);
  const auto found = world_.processes_.find(key);
  if (found == world_.processes_.end())
    return fail(Code::kNotFound, "runner.attempt.unknown", "no such attempt");
  found->second.removed = true;
  return {};
}

Result<std::vector<AttemptKey>> FakeExecutor::attempts_on_disk() const {
  const std::lock_guard lock(world_.mutex_);
  std::vector<AttemptKey> keys;
  for (const auto& [key, process] : world_.processes_) {
    if (!process.removed) keys.push_back(key);
  }
  return keys;
}

Result<void> FakeExecutor::set_aside(const AttemptKey& key) {
  const std::lock_guard lock(world_.mutex_);
  world_.processes_.erase(key);
  return {};
}

std::string FakeExecutor::log_path(const AttemptKey& key) const {
  return log_directory + "/" + key.job + "." + std::to_string(key.attempt);
}

// ---- devices

FakeDevices::FakeDevices(int npus) {
  for (int i = 0; i < npus; ++i) {
    DeviceNpu npu;
    npu.physical_id = static_cast<std::uint32_t>(i);
    npu.card_id = i;
    npu.logic_id = i;
    npu.chip = "910B4";
    npu.health = Health::kOk;
    npu.ai_cores = Sample<std::int32_t>::known(20);
    npu.memory_total = Sample<Bytes>::known(Bytes::gib(32));
    npu.memory_used = Sample<Bytes>::known(Bytes::gib(1));
    npus_.push_back(npu);
  }
}

Result<DeviceScan> FakeDevices::scan() {
  const std::lock_guard lock(mutex_);
  ++scans_;
  if (away_) return fail(Code::kUnavailable, "device.away", "the driver does not answer");
  return DeviceScan{"24.1.0", npus_};
}

void FakeDevices::set_away(bool away) {
  const std::lock_guard lock(mutex_);
  away_ = away;
}

void FakeDevices::set_health(std::uint32_t physical_id, Health health) {
  const std::lock_guard lock(mutex_);
  for (DeviceNpu& npu : npus_) {
    if (npu.physical_id == physical_id) npu.health = health;
  }
}

void FakeDevices::remove_npu(std::uint32_t physical_id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(npus_, [physical_id](const DeviceNpu& npu) { return npu.physical_id == physical_id; });
}

int FakeDevices::scans() const {
  const std::lock_guard lock(mutex_);
  return scans_;
}

void ManualClock::continue_from(TimeMs time) {
  std::int64_t present = now_.load();
  while (present < time.value && !now_.compare_exchange_weak(present, time.value)) {
  }
}

}  // namespace tangram::service::testing

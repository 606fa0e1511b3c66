#include "service/fakes.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace tangram::service::testing {

// ---- store

Result<std::uint64_t> FakeStore::append(std::span<const NewRecord> records) {
  const std::lock_guard lock(mutex_);
  if (full_)
    return fail(Code::kUnavailable, "journal.disk_full", "cannot write the journal: no space left",
                "make room for the journal");
  if (dead_) return fail(Code::kUnavailable, "journal.dead", "the machine is off");
  ++appends_;
  const std::uint64_t first = records_.size() + 1;
  for (const NewRecord& record : records) {
    if (records_max_ && records_.size() >= *records_max_) {
      dead_ = true;
      return fail(Code::kUnavailable, "journal.dead", "the machine is off");
    }
    records_.push_back({records_.size() + 1, record.at, record.kind, record.body});
    std::uint32_t item = 0;
    for (const NewEvent& event : record.events) events_.push_back({{records_.size(), item++}, event});
  }
  return first;
}

Result<void> FakeStore::read_after(std::uint64_t sequence,
                                   const std::function<Result<void>(const StoredRecord&)>& visit) {
  if (sequence < records_lost_) return fail(Code::kNotFound, "journal.compacted", "the journal begins later");
  for (const StoredRecord& record : records()) {
    if (record.sequence > sequence) TG_TRY_VOID(visit(record));
  }
  return {};
}

Result<void> FakeStore::save_snapshot(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  if (full_ || dead_) return fail(Code::kUnavailable, "journal.disk_full", "cannot write the snapshot");
  snapshots_kept_.insert(snapshots_kept_.begin(), snapshot);
  if (snapshots_kept_.size() > 2) snapshots_kept_.pop_back();
  ++snapshots_;
  return {};
}

Result<std::optional<Snapshot>> FakeStore::snapshot_before(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(snapshots_kept_.begin(), snapshots_kept_.end(),
                   [sequence](const Snapshot& snapshot) { return snapshot.sequence < sequence; });
  return found == snapshots_kept_.end() ? std::optional<Snapshot>() : std::optional(*found);
}

Result<void> FakeStore::compact(TimeMs /*before*/) {
  return {};
}

Result<StoredEvents> FakeStore::read_events(const EventRange& range) {
  const std::lock_guard lock(mutex_);
  ++event_reads_;
  StoredEvents found;
  found.lost_through = events_lost_;
  std::vector<StoredEvent> all = events_;
  if (range.backwards) std::reverse(all.begin(), all.end());
  for (StoredEvent& event : all) {
    if (found.events.size() >= range.limit) break;
    const bool matches = range.topic.empty() || event.event.topic == range.topic;
    if (matches && event.cursor > range.after && event.cursor < range.before) {
      found.events.push_back(std::move(event));
    }
  }
  return found;
}

void FakeStore::lose_events(std::uint64_t through) {
  const std::lock_guard lock(mutex_);
  std::erase_if(events_, [&](const StoredEvent& event) { return event.cursor.sequence <= through; });
  events_lost_ = through;
}

std::vector<StoredEvent> FakeStore::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

int FakeStore::event_reads() const {
  const std::lock_guard lock(mutex_);
  return event_reads_;
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
  return !snapshots_kept_.empty();
}

std::uint64_t FakeStore::snapshots() const {
  const std::lock_guard lock(mutex_);
  return snapshots_;
}

void FakeStore::cut(std::size_t count) {
  const std::lock_guard lock(mutex_);
  records_.resize(count);
}

void FakeStore::damage_snapshot() {
  const std::lock_guard lock(mutex_);
  std::string& body = snapshots_kept_.front().body;
  body.resize(body.size() / 2);
}

void FakeStore::lose_records(std::uint64_t through) {
  const std::lock_guard lock(mutex_);
  records_lost_ = through;
}

void FakeStore::inject(const NewRecord& record) {
  const std::lock_guard lock(mutex_);
  records_.push_back({records_.size() + 1, record.at, record.kind, record.body});
}

void FakeStore::drop_snapshot() {
  const std::lock_guard lock(mutex_);
  snapshots_kept_.clear();
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
      if (other.spec.slice && other.spec.slice == process.spec.slice) world_.overlap_ = true;
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
  if (ignore_stop) return {};
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
  if (log_delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(log_delay_ms));
  ++held_logs;
  while (hold_logs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  --held_logs;
  return log_directory + "/" + key.job + "." + std::to_string(key.attempt);
}

Result<std::optional<AttemptKey>> FakeExecutor::owner_of(std::int64_t pid) const {
  if (!tells_owners) return fail(Code::kUnavailable, "fake.owners", "whose a process is cannot be told");
  const std::lock_guard lock(owners_mutex_);
  const auto found = owners_.find(pid);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

bool FakeExecutor::may_live(const AttemptKey& key) const {
  const auto process = world_.process(key);
  return process && process->alive;
}

void FakeExecutor::set_owner(std::int64_t pid, const AttemptKey& key) {
  const std::lock_guard lock(owners_mutex_);
  owners_[pid] = key;
}

// ---- devices

DeviceNpu npu_310p3(std::uint32_t physical_id) {
  DeviceNpu npu;
  npu.physical_id = physical_id;
  npu.card_id = static_cast<std::int32_t>(physical_id);
  npu.logic_id = npu.card_id;
  npu.chip = "310P3";
  npu.board_id = Sample<std::uint32_t>::known(0x64);
  npu.health = Health::kOk;
  npu.ai_cores = Sample<std::int32_t>::known(8);
  npu.memory_total = Sample<Bytes>::known(Bytes::mib(21'527));
  npu.processes.valid = true;
  npu.slicing.support = SliceSupport::kListed;
  npu.slicing.slices.valid = true;
  return npu;
}

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

void FakeDevices::set_scan_time(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  scan_time_ = time;
}

Result<DeviceScan> FakeDevices::scan() {
  std::unique_lock lock(mutex_);
  if (scan_time_.count() > 0) {
    const std::chrono::milliseconds time = scan_time_;
    lock.unlock();
    std::this_thread::sleep_for(time);
    lock.lock();
  }
  ++scans_;
  if (away_) return fail(Code::kUnavailable, "device.away", "the driver does not answer");
  DeviceScan scan;
  scan.driver_version = driver_version_;
  scan.driver = driver_;
  scan.npus = npus_;
  scan.slices_recover = Sample<bool>::known(slices_recover_);
  scan.slices_for_containers = Sample<bool>::known(for_containers_);
  return scan;
}

// Every template fits: what fits is the hardware's business, and the simulated machine's.
Result<DeviceSlice> FakeDevices::create_slice(const SliceOrder& order) {
  const std::lock_guard lock(mutex_);
  for (DeviceNpu& npu : npus_) {
    if (npu.physical_id != order.physical_id) continue;
    if (refuse_create_.contains(order.physical_id)) {
      return fail(Code::kNotNow, refusal_, "the driver refused the cut");
    }
    std::vector<DeviceSlice>& slices = npu.slicing.slices.value;
    npu.slicing.slices.valid = true;
    std::uint32_t id = first_slice_id(order.physical_id);
    const auto taken = [&slices](std::uint32_t wanted) {
      return std::any_of(slices.begin(), slices.end(),
                         [wanted](const DeviceSlice& slice) { return slice.id == wanted; });
    };
    if (order.id) id = *order.id;
    while (!order.id && taken(id)) ++id;
    if (!is_slice_id(order.physical_id, id) || taken(id)) {
      return fail(Code::kAlreadyExists, std::string(slice_reason::kExists), "the id is taken");
    }
    DeviceSlice slice;
    slice.id = id;
    slice.template_name = Sample<std::string>::known(order.template_name);
    slice.container_used = Sample<bool>::known(false);
    if (order.vgroup != kNoVgroup) {
      slice.vgroup_id = Sample<std::uint32_t>::known(static_cast<std::uint32_t>(order.vgroup));
    }
    slices.insert(std::upper_bound(slices.begin(), slices.end(), slice,
                                   [](const DeviceSlice& a, const DeviceSlice& b) { return a.id < b.id; }),
                  slice);
    return slice;
  }
  return fail(Code::kNotFound, "device.npu.unknown", "there is no such NPU");
}

Result<void> FakeDevices::destroy_slice(std::uint32_t physical_id, std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  for (DeviceNpu& npu : npus_) {
    if (npu.physical_id != physical_id) continue;
    if (refuse_destroy_) {
      return fail(Code::kFailedPrecondition, std::string(slice_reason::kRefused), "the driver refused");
    }
    std::erase_if(npu.slicing.slices.value, [id](const DeviceSlice& slice) { return slice.id == id; });
    return {};
  }
  return fail(Code::kNotFound, "device.npu.unknown", "there is no such NPU");
}

Result<void> FakeDevices::forget_slice(std::uint32_t /*physical_id*/, std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  if (refuse_forget_) {
    return fail(Code::kUnavailable, std::string(slice_reason::kNotForgotten), "the file is damaged");
  }
  forgotten_.push_back(id);
  return {};
}

Result<void> FakeDevices::set_slices_recover(bool on) {
  const std::lock_guard lock(mutex_);
  slices_recover_ = on;
  return {};
}

Result<void> FakeDevices::set_device_share(std::uint32_t physical_id, bool on) {
  const std::lock_guard lock(mutex_);
  for (DeviceNpu& npu : npus_) {
    if (npu.physical_id == physical_id) npu.slicing.device_share = Sample<bool>::known(on);
  }
  return {};
}

void FakeDevices::set_driver(const std::string& version, const DriverStanding& standing) {
  const std::lock_guard lock(mutex_);
  driver_version_ = version;
  driver_ = standing;
}

void FakeDevices::set_away(bool away) {
  const std::lock_guard lock(mutex_);
  away_ = away;
}

void FakeDevices::set_npu(const DeviceNpu& npu) {
  const std::lock_guard lock(mutex_);
  for (DeviceNpu& known : npus_) {
    if (known.physical_id == npu.physical_id) known = npu;
  }
}

void FakeDevices::refuse_create(const std::set<std::uint32_t>& physical_ids, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  refuse_create_ = physical_ids;
  refusal_ = reason;
}

void FakeDevices::refuse_forget(bool refuse) {
  const std::lock_guard lock(mutex_);
  refuse_forget_ = refuse;
}

std::vector<std::uint32_t> FakeDevices::forgotten() const {
  const std::lock_guard lock(mutex_);
  return forgotten_;
}

bool FakeDevices::slices_recover() const {
  const std::lock_guard lock(mutex_);
  return slices_recover_;
}

void FakeDevices::set_recover(bool on) {
  const std::lock_guard lock(mutex_);
  slices_recover_ = on;
}

void FakeDevices::set_for_containers(bool on) {
  const std::lock_guard lock(mutex_);
  for_containers_ = on;
}

void FakeDevices::refuse_destroy(bool refuse) {
  const std::lock_guard lock(mutex_);
  refuse_destroy_ = refuse;
}

void FakeDevices::drop_slices() {
  const std::lock_guard lock(mutex_);
  for (DeviceNpu& npu : npus_) npu.slicing.slices.value.clear();
}

std::vector<DeviceSlice> FakeDevices::slices() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceSlice> all;
  for (const DeviceNpu& npu : npus_) {
    const std::vector<DeviceSlice>& slices = npu.slicing.slices.value;
    all.insert(all.end(), slices.begin(), slices.end());
  }
  return all;
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

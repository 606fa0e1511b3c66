#include "service/device_watch.h"

#include <utility>

#include "base/log.h"
#include "service/device_use.h"
#include "service/slices.h"

namespace tangram::service {
namespace {

std::string loss_text(const DeviceNpu& npu) {
  std::string text = "NPU " + std::to_string(npu.physical_id) + " is " + std::string(to_string(npu.health));
  if (!npu.health_note.empty()) text += ": " + npu.health_note;
  return text;
}

// A loss lasts from the look that first showed it.
std::map<std::uint32_t, DeviceLook::Loss> find_losses(std::map<std::uint32_t, DeviceLook::Loss> losses,
                                                      const DeviceReadings& readings,
                                                      std::chrono::steady_clock::time_point at) {
  std::map<std::uint32_t, const DeviceNpu*> seen;
  for (const DeviceNpu& npu : readings.npus) {
    seen[npu.physical_id] = &npu;
    losses.try_emplace(npu.physical_id);
  }
  for (auto& [id, loss] : losses) {
    const auto found = seen.find(id);
    const bool lost = found == seen.end() || found->second->health == Health::kAbsent ||
                      found->second->health == Health::kCritical;
    if (!lost) {
      loss = {};
      continue;
    }
    if (!loss.lost) loss.since = at;
    loss.lost = true;
    if (!readings.available) {
      loss.why = "NPU " + std::to_string(id) + " went away: the driver is not reachable";
    } else if (found == seen.end()) {
      loss.why = "NPU " + std::to_string(id) + " is absent";
    } else {
      loss.why = loss_text(*found->second);
    }
  }
  return losses;
}

}  // namespace

DeviceWatch::DeviceWatch(Devices& devices, const Executor& executor, Slices& slices, const Options& options,
                         std::function<void(const DeviceLook&)> on_look)
    : devices_(devices),
      executor_(executor),
      slices_(slices),
      interval_(options.scan_interval_ms),
      pace_(options.pace),
      on_look_(std::move(on_look)) {}

DeviceWatch::~DeviceWatch() {
  stop();
}

void DeviceWatch::expect(const std::vector<std::uint32_t>& physical_ids) {
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t id : physical_ids) last_.losses.try_emplace(id);
}

void DeviceWatch::start() {
  if (!pace_.threads) {
    take_look();
    return;
  }
  std::unique_lock lock(mutex_);
  thread_ = std::thread([this] { run(); });
  changed_.wait(lock, [this] { return looked_ || stopping_; });
}

void DeviceWatch::stop() {
  std::vector<std::function<void(const DeviceLook&)>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(asked_);
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void DeviceWatch::look_soon(std::function<void(const DeviceLook&)> done) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  asked_.push_back(std::move(done));
  changed_.notify_all();
}

DeviceLook DeviceWatch::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void DeviceWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    take_look();
    lock.lock();
    changed_.wait_for(lock, interval_, [this] { return stopping_ || !asked_.empty(); });
  }
}

bool DeviceWatch::step() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (asked_.empty() && pace_.now() < due_)) return false;
  }
  take_look();
  return true;
}

void DeviceWatch::take_look() {
  std::vector<std::function<void(const DeviceLook&)>> asked;
  {
    const std::lock_guard lock(mutex_);
    asked = std::exchange(asked_, {});
  }
  const DeviceLook now = look();
  on_look_(now);
  for (const auto& done : asked) done(now);
  const std::lock_guard lock(mutex_);
  last_ = now;
  looked_ = true;
  due_ = pace_.now() + interval_;
  changed_.notify_all();
}

DeviceLook DeviceWatch::look() {
  const LookStart slices_began = slices_.begin_look();
  DeviceLook now;
  now.began = pace_.now();
  auto scan = devices_.scan();
  DeviceLook before = last();
  now.readings.idle_use = std::move(before.readings.idle_use);
  if (scan) {
    slices_.look(slices_began, *scan);
    now.readings.slices_for_containers = scan->slices_for_containers;
    now.readings.slices_recover = scan->slices_recover;
    now.readings.recover_file = std::move(scan->recover_file);
    now.readings.available = true;
    now.readings.driver_version = std::move(scan->driver_version);
    now.readings.driver = std::move(scan->driver);
    now.readings.npus = std::move(scan->npus);
    note_idle_use(now.readings);
    now.readings.owners = find_owners(executor_, now.readings.npus);
  } else {
    now.readings.reason = scan.error().reason;
    now.readings.note = scan.error().to_string();
    if (!scan.error().hint.empty()) now.readings.note += "; " + scan.error().hint;
  }
  now.at = pace_.now();
  now.losses = find_losses(std::move(before.losses), now.readings, now.at);
  if (before.readings.available && !scan) log::error("the devices are away: " + now.readings.note);
  if (!before.readings.available && scan) {
    log::info("the devices are there: " + std::to_string(now.readings.npus.size()) + " NPUs, driver " +
              (now.readings.driver_version.empty() ? "unknown" : now.readings.driver_version));
  }
  if (scan && now.readings.driver.note != before.readings.driver.note && !now.readings.driver.note.empty()) {
    log::warn(now.readings.driver.note);
  }
  return now;
}

}  // namespace tangram::service

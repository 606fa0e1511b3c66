#include "service/slice_keeper.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/crash_point.h"
#include "base/invariant.h"
#include "base/log.h"

namespace tangram::service {
namespace {

// A file that could not be changed is tried again so much later.
constexpr std::int64_t kForgetPauseMs = 60'000;

}  // namespace

SliceKeeper::SliceKeeper(Devices& devices, SliceQuestions questions, SliceSink sink,
                         const SlicePolicy& policy, Pace pace)
    : devices_(devices),
      questions_(std::move(questions)),
      sink_(std::move(sink)),
      policy_(policy),
      pace_(std::move(pace)) {}

SliceKeeper::~SliceKeeper() {
  stop();
}

void SliceKeeper::start(const std::vector<OwnSlice>& entries) {
  TG_ASSERT(book_ == nullptr, "start() is called once");
  book_ = std::make_unique<SliceBook>(policy_, entries, now());
  changes_ = book_->begin_look(now()).changes;
  if (pace_.threads) thread_ = std::thread([this] { run(); });
}

void SliceKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void SliceKeeper::make(OwnSlice slice) {
  const std::lock_guard lock(mutex_);
  orders_.emplace_back([this, slice = std::move(slice)](SliceBook& book) {
    book.order(slice, now());
    return SliceBook::Events();
  });
  changed_.notify_all();
}

void SliceKeeper::give_back(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  orders_.emplace_back([this, id](SliceBook& book) { return book.end(id, now()); });
  changed_.notify_all();
}

LookStart SliceKeeper::begin_look() const {
  const std::lock_guard lock(mutex_);
  return {changes_, now()};
}

void SliceKeeper::look(LookStart began, DeviceScan scan) {
  const std::lock_guard lock(mutex_);
  look_ = Look{began, std::move(scan)};
  changed_.notify_all();
}

TimeMs SliceKeeper::now() const {
  return TimeMs(
      std::chrono::duration_cast<std::chrono::milliseconds>(pace_.now().time_since_epoch()).count());
}

bool SliceKeeper::step() {
  {
    const std::lock_guard lock(mutex_);
    const bool due = book_->next(now()).kind != SliceStep::Kind::kNothing;
    if (!due && orders_.empty() && !look_) return false;
  }
  if (!take_orders()) return false;
  work();
  return true;
}

void SliceKeeper::run() {
  while (take_orders()) work();
}

bool SliceKeeper::take_orders() {
  std::unique_lock lock(mutex_);
  changes_ = book_->begin_look(now()).changes;
  while (!stopping_ && orders_.empty() && !look_) {
    const SliceStep step = book_->next(now());
    if (step.kind != SliceStep::Kind::kNothing) break;
    if (step.due == TimeMs::never()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::milliseconds(step.due.value - now().value));
    }
  }
  if (stopping_) return false;
  const auto orders = std::exchange(orders_, {});
  const std::optional<Look> look = std::exchange(look_, std::nullopt);
  lock.unlock();
  for (const auto& order : orders) tell(order(*book_));
  if (look) note_look(look->scan, look->began);
  return true;
}

void SliceKeeper::work() {
  const SliceStep step = book_->next(now());
  const SliceOrder& order = step.order;
  const std::uint32_t id = order.id.value_or(0);
  switch (step.kind) {
    case SliceStep::Kind::kNothing:
      return;
    case SliceStep::Kind::kLook: {
      const LookStart began = book_->begin_look(now());
      const Result<DeviceScan> scan = devices_.scan();
      if (scan) {
        note_look(*scan, began);
      } else {
        book_->look_failed(now());
      }
      return;
    }
    case SliceStep::Kind::kCreate: {
      TG_CRASH_POINT("service.before_create_slice");
      const Result<DeviceSlice> made = devices_.create_slice(order);
      TG_CRASH_POINT("service.after_create_slice");
      warn(order.physical_id, id, made ? nullptr : &made.error());
      tell(book_->created(id, made, now()));
      return;
    }
    case SliceStep::Kind::kDestroy: {
      TG_CRASH_POINT("service.before_destroy_slice");
      const Result<void> gone = devices_.destroy_slice(order.physical_id, id);
      TG_CRASH_POINT("service.after_destroy_slice");
      warn(order.physical_id, id, gone ? nullptr : &gone.error());
      if (gone) forget(order.physical_id, id);
      tell(book_->destroyed(id, gone, now()));
      return;
    }
    case SliceStep::Kind::kForbidRecover:
      forbid_recover();
      return;
  }
}

void SliceKeeper::forbid_recover() {
  const Result<void> off = devices_.set_slices_recover(false);
  if (off) {
    log::info(
        "the driver's recover mode was on and is turned off for the whole machine, so that a boot does not "
        "cut "
        "the slices of jobs that have ended (slices.forbidRecover)");
  }
  const std::string text = off ? "" : "slices are cut again after a reboot: " + off.error().to_string();
  if (!text.empty() && text != recover_warned_) log::warn(text);
  recover_warned_ = text;
  book_->recover_forbidden(off, now());
}

// Before it is told: its id is nobody else's yet.
void SliceKeeper::forget(std::uint32_t physical_id, std::uint32_t id) {
  // One that holds the driver's lock must not hold up each slice in turn.
  if (now() < forget_again_at_) {
    not_forgotten_.emplace(id, physical_id);
    return;
  }
  const Result<void> forgotten = devices_.forget_slice(physical_id, id);
  if (forgotten) {
    not_forgotten_.erase(id);
    return;
  }
  forget_again_at_ = TimeMs(now().value + kForgetPauseMs);
  if (not_forgotten_.emplace(id, physical_id).second) log::warn(forgotten.error().to_string());
}

void SliceKeeper::forget_what_is_left() {
  if (now() < forget_again_at_) return;
  const std::map<std::uint32_t, std::uint32_t> left = not_forgotten_;
  for (const auto& [id, physical_id] : left) {
    forget(physical_id, id);
    if (not_forgotten_.contains(id)) return;
  }
}

void SliceKeeper::note_look(const DeviceScan& scan, LookStart began) {
  const auto own = questions_.own_processes(scan);
  const SliceBook::Events events = book_->looked(scan, own, began, questions_.may_live, now());
  for (const SliceEvent& event : events) {
    if (event.kind == SliceEvent::Kind::kReturned) forget(event.slice.physical_id, event.slice.id);
  }
  forget_what_is_left();
  tell(events);
  if (sink_.looked) sink_.looked(book_->report());
}

// What is refused again and again for one reason is said once.
void SliceKeeper::warn(std::uint32_t physical_id, std::uint32_t id, const Error* error) {
  if (error == nullptr) {
    warned_.erase(id);
    return;
  }
  std::string text =
      "slice " + std::to_string(id) + " of NPU " + std::to_string(physical_id) + ": " + error->to_string();
  std::string& last = warned_[id];
  if (text == last) return;
  last = std::move(text);
  log::warn(last);
}

void SliceKeeper::tell(const SliceBook::Events& events) const {
  for (const SliceEvent& event : events) sink_.event(event);
}

}  // namespace tangram::service

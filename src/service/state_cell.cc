#include "service/state_cell.h"

#include <utility>

namespace tangram::service {

void StateCell::replace(State state) {
  const std::lock_guard copy_lock(copy_mutex_);
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
  core_copy_.reset();
}

void StateCell::apply(std::span<const wire::JournalRecord> records, TimeMs at) {
  std::unique_lock turn(turn_mutex_);
  const std::lock_guard lock(mutex_);
  turn.unlock();
  for (const wire::JournalRecord& record : records) state_.apply(record, at);
}

std::shared_ptr<const Scheduler> StateCell::copy_of_core() const {
  if (core_copy_ && core_version_ == state_.version()) return core_copy_;
  core_copy_.reset();
  std::unique_ptr<Scheduler> core;
  {
    const std::lock_guard lock(spare_->mutex);
    core.swap(spare_->core);
  }
  if (core) {
    *core = state_.core();
  } else {
    core = std::make_unique<Scheduler>(state_.core());
  }
  Scheduler* const copy = core.release();
  core_copy_ = std::shared_ptr<const Scheduler>(copy, [spare = spare_, copy](const Scheduler*) {
    std::unique_ptr<Scheduler> unread(copy);  // what is one too many goes without the lock
    const std::lock_guard lock(spare->mutex);
    spare->core.swap(unread);
  });
  core_version_ = state_.version();
  return core_copy_;
}

}  // namespace tangram::service

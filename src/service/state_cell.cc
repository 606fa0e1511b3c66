#include "service/state_cell.h"

#include <utility>

namespace tangram::service {

void StateCell::replace(State state) {
  const std::lock_guard copy_lock(copy_mutex_);
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
  copy_.reset();
  core_copy_.reset();
}

void StateCell::apply(std::span<const wire::JournalRecord> records, TimeMs at) {
  const std::lock_guard lock(mutex_);
  for (const wire::JournalRecord& record : records) state_.apply(record, at);
}

std::shared_ptr<const State> StateCell::snapshot() const {
  const std::lock_guard copy_lock(copy_mutex_);
  const std::lock_guard lock(mutex_);
  if (!copy_ || copy_->version() != state_.version()) copy_ = std::make_shared<const State>(state_);
  return copy_;
}

std::shared_ptr<const Scheduler> StateCell::copy_of_core() const {
  if (!core_copy_ || core_version_ != state_.version()) {
    core_copy_ = std::make_shared<const Scheduler>(state_.core());
    core_version_ = state_.version();
  }
  return core_copy_;
}

}  // namespace tangram::service

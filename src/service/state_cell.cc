#include "service/state_cell.h"

#include <utility>

namespace tangram::service {

void StateCell::replace(State state) {
  const std::lock_guard copy_lock(copy_mutex_);
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
  copy_.reset();
}

void StateCell::apply(std::span<const wire::JournalRecord> records, TimeMs at) {
  const std::lock_guard lock(mutex_);
  for (const wire::JournalRecord& record : records) state_.apply(record, at);
}

std::shared_ptr<const State> StateCell::snapshot() const {
  // Only readers queue up here, so that a burst of them makes one copy and the writer waits for one at most.
  const std::lock_guard copy_lock(copy_mutex_);
  const std::lock_guard lock(mutex_);
  if (!copy_ || copy_->version() != state_.version()) copy_ = std::make_shared<const State>(state_);
  return copy_;
}

}  // namespace tangram::service

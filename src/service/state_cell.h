// The durable state as readers see it. The writer changes it only with records that are in the journal, so
// nobody ever sees what a full disk could take back; a reader never waits for the disk.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "service/state.h"

namespace tangram::service {

// Thread-safe.
class StateCell {
 public:
  void replace(State state);
  void apply(std::span<const wire::JournalRecord> records, TimeMs at);

  // Runs `use` on the state under the lock: for short look-ups. It must not call the cell again.
  template <class Use>
  auto read(Use&& use) const {
    const std::lock_guard lock(mutex_);
    return use(state_);
  }

  // A copy for long questions. Readers that ask while nothing changed share one.
  std::shared_ptr<const State> snapshot() const;

 private:
  mutable std::mutex mutex_;
  State state_;
  mutable std::mutex copy_mutex_;  // taken before mutex_
  mutable std::shared_ptr<const State> copy_;
};

}  // namespace tangram::service

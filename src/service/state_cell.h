// The durable state as readers see it. The writer changes it only with records that are in the journal, so
// nobody ever sees what a full disk could take back; a reader never waits for the disk.
#pragma once

#include <cstdint>
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

  // As read(), but `use` gets, besides the state, a function that gives a copy of its core: for a long
  // question to the core alone. Such a copy is a few flat arrays, where snapshot() copies every name of every
  // job. Readers that ask while nothing changed share one.
  template <class Use>
  auto read_with_core(Use&& use) const {
    // Only readers queue up here, so that a burst of them makes one copy and the writer waits for one at
    // most.
    const std::lock_guard copy_lock(copy_mutex_);
    const std::lock_guard lock(mutex_);
    return use(state_, [this] { return copy_of_core(); });
  }

  // A copy of everything, for long questions. Shared likewise.
  std::shared_ptr<const State> snapshot() const;

 private:
  std::shared_ptr<const Scheduler> copy_of_core() const;  // with both locks held

  mutable std::mutex mutex_;
  State state_;
  mutable std::mutex copy_mutex_;  // taken before mutex_
  mutable std::shared_ptr<const State> copy_;
  mutable std::shared_ptr<const Scheduler> core_copy_;
  mutable std::uint64_t core_version_ = 0;  // of core_copy_
};

}  // namespace tangram::service

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

  // Runs `use` on the state under the lock that the writer needs: for what takes well below a millisecond
  // however many jobs and tenants there are. What takes longer reads in pieces; whoever waits comes between
  // two of them. `use` must not call the cell again.
  template <class Use>
  auto read(Use&& use) const {
    std::unique_lock turn(turn_mutex_);
    const std::lock_guard lock(mutex_);
    turn.unlock();
    return use(state_);
  }

  // As read(), but `use` gets, besides the state, a function that gives a copy of its core: for a long
  // question to the core alone. Such a copy is a few flat arrays, without the names of jobs and their
  // programs. Readers that ask while nothing changed share one.
  template <class Use>
  auto read_with_core(Use&& use) const {
    // Only readers queue up here, so that a burst of them makes one copy and the writer waits for one at
    // most.
    const std::lock_guard copy_lock(copy_mutex_);
    std::unique_lock turn(turn_mutex_);
    const std::lock_guard lock(mutex_);
    turn.unlock();
    return use(state_, [this] { return copy_of_core(); });
  }

 private:
  // The memory of a copy that nobody reads any more, for the next one: half of what copying takes under the
  // lock would be the kernel's work on fresh pages.
  struct Spare {
    std::mutex mutex;
    std::unique_ptr<Scheduler> core;
  };

  std::shared_ptr<const Scheduler> copy_of_core() const;  // with mutex_ and copy_mutex_ held

  // Held only until mutex_ is: a reader that has had the state and comes again at once queues up behind
  // whoever waits for it, which a mutex alone does not promise.
  mutable std::mutex turn_mutex_;
  mutable std::mutex mutex_;
  State state_;
  mutable std::mutex copy_mutex_;                                   // taken before turn_mutex_ and mutex_
  const std::shared_ptr<Spare> spare_ = std::make_shared<Spare>();  // copies may outlive the cell
  mutable std::shared_ptr<const Scheduler> core_copy_;
  mutable std::uint64_t core_version_ = 0;  // of core_copy_
};

}  // namespace tangram::service

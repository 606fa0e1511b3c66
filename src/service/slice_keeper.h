// Cuts and returns slices, and keeps the book of them in step with the hardware, on a thread of its own: a
// call of the devices may take seconds, and nobody waits for it here.
//
// What whoever wires it in does, and writes to the journal:
//
//   1. An attempt is to have a slice: choose its id with free_slice_id() of all entries of the book and all
//   slices of
//      the last look. Journal *slice ordered* {attempt, NPU, id, template}; once that is durable: make().
//   2. kMade: journal *slice made*, then prepare the attempt with LaunchSpec::slice. When the attempt is no
//   longer
//      wanted by then: step 3.
//      kNotMade: the attempt did not start; kReturned follows by itself.
//   3. The attempt has ended (the executor told its end), or was cancelled before it was prepared: journal
//   that, then
//      give_back(). Until kReturned the id and what the slice takes of its NPU stay taken.
//   4. kReturned: journal *slice returned*, and forget the entry.
//   5. kLost: the attempt has lost its device; stop it (StopReason::kDeviceLost), then step 3.
//
// After a restart, start() gets the entries that the journal has: *ordered* without *made* is kOrdered while
// its attempt is wanted, *made* is kHeld, and what is not wanted any more, or belongs to an ended attempt, is
// kEnded. The same events follow as without the restart, and may come a second time when the
// crash was before they were journaled.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ports/devices.h"
#include "service/pace.h"
#include "service/slice_book.h"

namespace tangram::service {

// What the keeper asks before it returns a slice. On its thread; each must be quick.
struct SliceQuestions {
  SliceBook::MayLive may_live;
  // Processes of the look that belong to attempts; none: that cannot be told.
  std::function<std::optional<std::set<std::int64_t>>(const DeviceScan&)> own_processes;
};

// Called on the keeper's thread, with no lock held; must be short.
struct SliceSink {
  std::function<void(const SliceEvent&)> event;
  std::function<void(const SliceReport&)> looked;  // after each look; may be empty
};

// Thread-safe after start().
class SliceKeeper {
 public:
  SliceKeeper(Devices& devices, SliceQuestions questions, SliceSink sink, const SlicePolicy& policy,
              Pace pace = {});
  ~SliceKeeper();  // stop()
  SliceKeeper(const SliceKeeper&) = delete;
  SliceKeeper& operator=(const SliceKeeper&) = delete;

  // Looks at once, and returns what ended leases have left.
  void start(const std::vector<OwnSlice>& entries);
  // Waits for the call under way, which is bounded. No event comes any more; the slices stay as they are.
  void stop();

  // The order is durable, and its id neither in the book nor another order's.
  void make(OwnSlice slice);
  // By its id. May be said twice, and of one that is not in the book (any more).
  void give_back(std::uint32_t id);

  // For looks that are made anyway: begin_look() before Devices::scan(), look() with what it gave. The keeper
  // looks by itself only when something has to be cleared up.
  LookStart begin_look() const;
  void look(LookStart began, DeviceScan scan);

  // Without a thread: what has come, and then what is due first. False: neither is there.
  bool step();

 private:
  struct Look {
    LookStart began;
    DeviceScan scan;
  };

  TimeMs now() const;
  void run();
  // Those that have come, in their order; false: stop.
  bool take_orders();
  void work();
  void tell(const SliceBook::Events& events) const;
  void warn(std::uint32_t physical_id, std::uint32_t id, const Error* error);
  void note_look(const DeviceScan& scan, LookStart began);
  // A slice that is gone: the driver is not to cut it again after a boot.
  void forget(std::uint32_t physical_id, std::uint32_t id);
  void forget_what_is_left();
  void forbid_recover();

  Devices& devices_;
  const SliceQuestions questions_;
  const SliceSink sink_;
  const SlicePolicy policy_;
  const Pace pace_;
  // Of the keeper's thread.
  std::unique_ptr<SliceBook> book_;
  std::map<std::uint32_t, std::string> warned_;  // by id
  std::string recover_warned_;
  std::map<std::uint32_t, std::uint32_t> not_forgotten_;  // by id: the NPU
  TimeMs forget_again_at_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<SliceBook::Events(SliceBook&)>> orders_;
  std::optional<Look> look_;   // the latest that came
  std::uint64_t changes_ = 0;  // of the book
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::service

// The slices that this service has ordered, and what is to be done next about each: cut it, look for it,
// return it, try again later. Pure: what happens is told to it, with the time, and it answers with events and
// the next step.
//
// Life of a slice:
//
//   ordered ──create──> held ──end──> ended ──look, destroy──> forgotten (kReturned)
//      │                  └ a look does not show it: kLost, once; it stays until it is ended
//      └ refused for good, or too often: kNotMade, and ended at once
//
// A slice is returned only after a look that began after the last change about it shows it there and unused,
// and the supervisor of its attempt is gone. It is forgotten only when the hardware does not show it, and no
// call that was cut off may still make it, or hit the next slice of its id.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "ports/devices.h"
#include "ports/executor.h"
#include "service/residual_slices.h"

namespace tangram::service {

// An entry of the book, as the journal keeps it.
struct OwnSlice {
  AttemptKey attempt;             // for which it was ordered
  std::uint32_t physical_id = 0;  // of the NPU
  std::uint32_t id = 0;           // chosen by free_slice_id(); no two entries have the same
  std::string template_name;
  BookedSlice::State state = BookedSlice::State::kOrdered;
  std::int32_t vgroup = kNoVgroup;  // in which it is to be cut

  friend bool operator==(const OwnSlice&, const OwnSlice&) = default;
};

// The lowest id that a slice of this NPU can have and that is not among `taken`: those of the book's entries
// and of the slices that looks show. None: the NPU has sixteen.
std::optional<std::uint32_t> free_slice_id(std::uint32_t physical_id, const std::set<std::uint32_t>& taken);

struct SliceEvent {
  enum class Kind : std::uint8_t {
    kMade,      // the hardware shows it: a program may be started in it
    kNotMade,   // given up; the entry has ended, and kReturned follows once nothing of it can be there
    kLost,      // it was held, and the hardware does not show it any more
    kReturned,  // gone; the entry is forgotten, and its id is free again
  };

  Kind kind = Kind::kMade;
  OwnSlice slice;                   // as it is after the event
  std::optional<DeviceSlice> seen;  // kMade
  std::optional<Error> error;       // kNotMade: reason of slice_reason, or what Devices said
  bool nothing_there = false;       // kNotMade: and nothing of it can come; kReturned follows at once
};

// What a look has shown, for those who count capacity and for `tangram doctor`.
struct SliceReport {
  std::vector<SliceJudgement> slices;  // also those that nobody owns
  bool recovers = false;               // the machine would cut its slices again after a reboot
};

struct SlicePolicy {
  ForeignPolicy foreign;
  // Whether the machine is kept from cutting its slices again after a reboot: the journal knows which are
  // wanted, and what the driver cuts anew belongs to leases that may have ended long before.
  bool forbid_recover = true;
  int create_tries = 5;
  std::int64_t create_pause_ms = 500;  // after the first refusal; doubled each time
  std::int64_t return_pause_ms = 1'000;
  std::int64_t pause_ms_max = 60'000;
  std::int64_t look_pause_ms = 500;  // between looks of its own, while something is not clear
  std::int64_t verdict_ms = 2'000;   // so old a look may be on which a slice is returned
  // So long after a call was cut off it may still take effect: a driver takes up to 4 s for a slice.
  std::int64_t late_ms = 5'000;
  // An NPU that its driver will not cut (CutRefusals) is tried again after this; doubled each further time.
  std::int64_t retry_refused_ms = 600'000;
  std::int64_t retry_refused_ms_max = 14'400'000;
};

// What to do next; then tell the book with the call named here.
struct SliceStep {
  enum class Kind : std::uint8_t {
    kNothing,       // before `due`
    kLook,          // looked() or look_failed()
    kCreate,        // created()
    kDestroy,       // destroyed()
    kForbidRecover  // recover_forbidden()
  };

  Kind kind = Kind::kNothing;
  TimeMs due = TimeMs::never();
  SliceOrder order;  // kCreate, kDestroy: with an id
};

// Taken when a look begins, it tells what that look cannot know.
struct LookStart {
  std::uint64_t changes = 0;  // in the book until then
  TimeMs at;
};

// Not thread-safe. Times are of one monotone clock.
class SliceBook {
 public:
  using Events = std::vector<SliceEvent>;
  // Whether something of the attempt may live: Executor::may_live.
  using MayLive = std::function<bool(const AttemptKey&)>;

  SliceBook(const SlicePolicy& policy, const std::vector<OwnSlice>& entries, TimeMs now);

  // The order is in the journal. Its id is not among the entries, and one of its NPU's.
  void order(const OwnSlice& slice, TimeMs now);
  // Nobody wants it any more. Nothing happens to one that is ended or forgotten already.
  Events end(std::uint32_t id, TimeMs now);

  SliceStep next(TimeMs now) const;

  Events created(std::uint32_t id, const Result<DeviceSlice>& result, TimeMs now);
  Events destroyed(std::uint32_t id, const Result<void>& result, TimeMs now);
  void recover_forbidden(const Result<void>& result, TimeMs now);

  // `own_processes`: as slices_seen() wants them. A look that began before one that was told says nothing.
  LookStart begin_look(TimeMs now) const { return {changes_, now}; }
  Events looked(const DeviceScan& scan, const std::optional<std::set<std::int64_t>>& own_processes,
                LookStart began, const MayLive& may_live, TimeMs now);
  void look_failed(TimeMs now);

  const SliceReport& report() const { return report_; }  // of the last look
  std::vector<OwnSlice> entries() const;                 // ascending by id

 private:
  struct Entry {
    OwnSlice slice;
    bool maybe_there = false;  // on the hardware
    bool unclear = false;      // an order: a look must tell before it is tried again
    TimeMs return_until;       // of an ended one: until then the last look allows its return
    bool told_lost = false;
    int tries = 0;  // of creating
    std::optional<Error> last_error;
    TimeMs due;  // nothing is tried before
    std::int64_t pause_ms = 0;
    TimeMs late_until;  // an order that was cut off may take effect until then
    std::uint64_t changed_at = 0;
  };
  // A slice of nobody's.
  struct Stranger {
    std::string template_name;
    TimeMs return_until;  // until then the last look allows its return
    TimeMs due;
    std::int64_t pause_ms = 0;
  };

  void changed(Entry& entry) { entry.changed_at = ++changes_; }
  void back_off(TimeMs& due, std::int64_t& pause_ms, std::int64_t first_ms, TimeMs now) const;
  void tell(SliceEvent::Kind kind, const Entry& entry, Events& events) const;
  bool may_be_there(const Entry& entry, TimeMs now) const;
  void forget(std::uint32_t id, Events& events);
  void make_known(Entry& entry, const DeviceSlice& seen, Events& events);
  void refused(Entry& entry, const Error& error, TimeMs now, Events& events);
  void give_up(std::uint32_t id, const Error& error, TimeMs now, Events& events);

  std::vector<BookedSlice> booked(LookStart began, const MayLive& may_live) const;
  // Without what has been returned since the look began.
  SlicesSeen still_true(SlicesSeen seen, LookStart began) const;
  SlicesSeen of_strangers(const SlicesSeen& seen) const;
  void found(Entry& entry, SliceVerdict verdict, const DeviceScan& scan, TimeMs now, Events& events);
  void unread(Entry& entry, TimeMs now) const;
  void missing(std::uint32_t id, LookStart began, TimeMs now, Events& events);
  void note_strangers(const SliceReview& review, const SlicesSeen& seen, TimeMs now);
  TimeMs look_due(const Entry& entry) const;

  const SlicePolicy policy_;
  std::map<std::uint32_t, Entry> entries_;       // by id
  std::map<std::uint32_t, Stranger> strangers_;  // by id
  // Returns of strangers that were cut off, by id: until then they may take effect.
  std::map<std::uint32_t, TimeMs> late_returns_;
  TimeMs free_from_;  // before, ids may be hit by returns that nobody knows of
  std::map<std::uint32_t, std::uint64_t>
      returned_at_;      // by id: changes() then; an older look may still show it
  Sightings sightings_;  // of strangers
  SliceReport report_;
  std::uint64_t last_look_began_ = 0;  // LookStart::changes
  TimeMs next_look_;                   // of looks that are to tell what the last one did not
  TimeMs look_after_failure_;
  std::int64_t look_pause_ms_ = 0;
  TimeMs recover_due_;
  std::int64_t recover_pause_ms_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace tangram::service

// What is to become of each slice that a look shows: whether the book owns it, and if not, whether it may be
// returned. Pure; knows neither journal nor driver.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "ports/devices.h"

namespace tangram::service {

// A slice of the book. One that is returned stays in the book until a look has shown that it is gone: by then
// the id may be anybody's.
struct BookedSlice {
  enum class State : std::uint8_t {
    kOrdered,  // the intent is in the journal, and its job still wants it
    kHeld,     // by a lease
    kEnded,    // of an ended lease, or of an intent that nobody wants any more
  };

  std::uint32_t physical_id = 0;
  std::uint32_t id = 0;  // chosen when it was ordered
  std::string template_name;
  State state = State::kOrdered;
  bool in_flight = false;   // an order about it is under way at this moment
  bool supervised = false;  // a supervisor of its attempt lives
};

// Of a look: the slices of an NPU, where they could be read.
struct SeenSlice {
  std::uint32_t physical_id = 0;
  std::uint32_t id = 0;
  std::string template_name;                  // empty: not told
  std::optional<bool> container_used;         // none: not told
  std::optional<bool> has_strange_processes;  // on its NPU, other than those of leases; none: not known
};
struct SlicesSeen {
  std::vector<std::uint32_t> npus;  // physical ids whose slices could be read
  std::vector<SeenSlice> slices;
};

// `own_pids`: of processes that belong to leases; none: that cannot be told. An NPU that is absent, or whose
// slices could not be read, is left out.
SlicesSeen slices_seen(const DeviceScan& scan, const std::optional<std::set<std::int64_t>>& own_pids);

// How long each slice has been there without a break, as far as looks tell. An NPU that could not be read
// counts neither way. One thread at a time.
class Sightings {
 public:
  struct Sighting {
    TimeMs first;
    int looks = 0;
  };

  void note(const SlicesSeen& seen, TimeMs now);
  // Of nobody: never seen.
  Sighting of(const SeenSlice& slice) const;

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string>;  // NPU, id, template
  std::map<Key, Sighting> sightings_;
};

// About slices that the book does not know.
struct ForeignPolicy {
  bool reclaim = false;
  std::int64_t grace_ms = 600'000;
  int sightings_min = 2;
};

enum class SliceVerdict : std::uint8_t {
  kKeep,     // a lease holds it
  kAdopt,    // it is the one that was ordered
  kReclaim,  // may be returned now
  kWait,     // not yet: in use, in its grace, or its order is under way
  kForeign,  // is left alone for good
};
std::string_view to_string(SliceVerdict verdict);

struct SliceJudgement {
  std::uint32_t physical_id = 0;
  std::uint32_t id = 0;
  std::string template_name;
  SliceVerdict verdict = SliceVerdict::kForeign;
  bool own = false;                   // the book knows it
  std::optional<std::size_t> booked;  // which entry of the book
  std::string why;                    // "no lease, no intent; seen for 42 s of 600 s"
};

struct SliceReview {
  std::vector<SliceJudgement> slices;  // as in the look
  // Entries of the book whose slice a look of their NPU does not show: lost if held, not made if ordered, and
  // to be forgotten if ended. None that is in flight.
  std::vector<std::size_t> missing;
};

// Never kReclaim for a slice that a lease holds, that a supervised attempt stands behind, that the device
// shows in use or does not say whether it is, or whose id is none of its NPU's.
SliceReview review_slices(const std::vector<BookedSlice>& book, const SlicesSeen& seen,
                          const Sightings& sightings, const ForeignPolicy& policy, TimeMs now);

}  // namespace tangram::service

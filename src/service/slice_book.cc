#include "service/slice_book.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/invariant.h"

namespace tangram::service {
namespace {

using State = BookedSlice::State;
using Kind = SliceEvent::Kind;

constexpr std::int64_t kLookPauseMsMax = 10'000;

TimeMs later(TimeMs time, std::int64_t ms) {
  return TimeMs(time.value + ms);
}

std::uint32_t npu_of(std::uint32_t slice_id) {
  return (slice_id - first_slice_id(0)) / kSlicesPerNpuMax;
}

// A second try would be answered in the same way.
bool is_final(const Error& error) {
  constexpr std::array kFinal = {slice_reason::kInvalid, slice_reason::kUnsupported,
                                 slice_reason::kNotPermitted, slice_reason::kNoCapacity};
  return std::find(kFinal.begin(), kFinal.end(), std::string_view(error.reason)) != kFinal.end();
}

const DeviceSlice* find_slice(const DeviceScan& scan, const OwnSlice& wanted) {
  for (const DeviceNpu& npu : scan.npus) {
    if (npu.physical_id != wanted.physical_id) continue;
    for (const DeviceSlice& slice : npu.slicing.slices.value) {
      if (slice.id == wanted.id) return &slice;
    }
  }
  return nullptr;
}

Error not_seen_error(const OwnSlice& slice) {
  return {Code::kUnavailable,
          std::string(slice_reason::kUnsettled),
          "slice " + std::to_string(slice.id) + " of NPU " + std::to_string(slice.physical_id) +
              " did not come into being",
          {},
          {},
          nullptr};
}

}  // namespace

std::optional<std::uint32_t> free_slice_id(std::uint32_t physical_id, const std::set<std::uint32_t>& taken) {
  const std::uint32_t first = first_slice_id(physical_id);
  for (std::uint32_t id = first; id < first + kSlicesPerNpuMax; ++id) {
    if (!taken.contains(id)) return id;
  }
  return std::nullopt;
}

// What became of the orders of a daemon that is gone, only a look can tell.
SliceBook::SliceBook(const SlicePolicy& policy, const std::vector<OwnSlice>& entries, TimeMs now)
    : policy_(policy) {
  // Which of others' slices the daemon before was returning is not known.
  if (policy_.foreign.reclaim) free_from_ = later(now, policy_.late_ms);
  for (const OwnSlice& slice : entries) {
    Entry entry;
    entry.slice = slice;
    entry.maybe_there = true;
    entry.unclear = slice.state == State::kOrdered;
    entry.due = now;
    if (slice.state != State::kHeld) entry.late_until = later(now, policy_.late_ms);
    changed(entry);
    const bool is_new = entries_.try_emplace(slice.id, std::move(entry)).second;
    TG_ASSERT(is_new && is_slice_id(slice.physical_id, slice.id), "a book with slices that cannot be");
  }
}

void SliceBook::order(const OwnSlice& slice, TimeMs now) {
  TG_ASSERT(is_slice_id(slice.physical_id, slice.id), "an order for a slice that cannot be");
  Entry entry;
  entry.slice = slice;
  entry.slice.state = State::kOrdered;
  entry.due = std::max(now, free_from_);
  // A return of another's that was cut off must not hit what is cut under its id.
  if (const auto late = late_returns_.extract(slice.id)) entry.due = std::max(entry.due, late.mapped());
  changed(entry);
  const bool is_new = entries_.try_emplace(slice.id, std::move(entry)).second;
  TG_ASSERT(is_new, "a slice is ordered under an id that the book still has");
  strangers_.erase(slice.id);
}

SliceBook::Events SliceBook::end(std::uint32_t id, TimeMs now) {
  Events events;
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.slice.state == State::kEnded) return events;
  Entry& entry = found->second;
  entry.slice.state = State::kEnded;
  entry.due = now;
  entry.pause_ms = 0;
  changed(entry);
  if (!may_be_there(entry, now)) forget(id, events);
  return events;
}

SliceStep SliceBook::next(TimeMs now) const {
  SliceStep best;
  // Of what is due, what comes first here is done first.
  const auto offer = [&best, now](SliceStep::Kind kind, TimeMs due, const SliceOrder& order = {}) {
    const bool best_is_due = best.kind != SliceStep::Kind::kNothing && best.due <= now;
    if (!best_is_due && due < best.due) best = {kind, due, order};
  };
  if (report_.recovers && policy_.forbid_recover) offer(SliceStep::Kind::kForbidRecover, recover_due_);
  for (const auto& [id, entry] : entries_) {
    if (now < entry.return_until)
      offer(SliceStep::Kind::kDestroy, entry.due, {entry.slice.physical_id, {}, id});
  }
  for (const auto& [id, stranger] : strangers_) {
    if (now < stranger.return_until) offer(SliceStep::Kind::kDestroy, stranger.due, {npu_of(id), {}, id});
  }
  for (const auto& [id, entry] : entries_) {
    if (entry.slice.state != State::kOrdered || entry.unclear) continue;
    offer(SliceStep::Kind::kCreate, entry.due,
          {entry.slice.physical_id, entry.slice.template_name, id, entry.slice.vgroup});
  }
  for (const auto& [id, entry] : entries_) {
    const bool ended = entry.slice.state == State::kEnded && now >= entry.return_until;
    if (ended || entry.unclear) offer(SliceStep::Kind::kLook, look_due(entry));
  }
  if (best.due > now) best.kind = SliceStep::Kind::kNothing;
  return best;
}

TimeMs SliceBook::look_due(const Entry& entry) const {
  TimeMs due = std::max(entry.due, look_after_failure_);
  if (entry.changed_at <= last_look_began_) due = std::max(due, next_look_);
  return due;
}

SliceBook::Events SliceBook::created(std::uint32_t id, const Result<DeviceSlice>& result, TimeMs now) {
  Events events;
  const auto at = entries_.find(id);
  TG_ASSERT(at != entries_.end(), "the outcome of a slice that nobody ordered");
  Entry& entry = at->second;
  ++entry.tries;
  changed(entry);
  if (result) {
    make_known(entry, *result, events);
  } else if (is_unsettled(result.error())) {
    entry.last_error = result.error();
    entry.maybe_there = entry.unclear = true;
    entry.late_until = later(now, policy_.late_ms);
    entry.due = now;
  } else {
    refused(entry, result.error(), now, events);
  }
  return events;
}

// Nothing of it is there.
void SliceBook::refused(Entry& entry, const Error& error, TimeMs now, Events& events) {
  entry.maybe_there = entry.unclear = false;
  const bool taken = error.reason == slice_reason::kExists;
  if (taken || is_final(error) || entry.tries >= policy_.create_tries) {
    give_up(entry.slice.id, error, now, events);
    return;
  }
  entry.last_error = error;
  back_off(entry.due, entry.pause_ms, policy_.create_pause_ms, now);
}

void SliceBook::give_up(std::uint32_t id, const Error& error, TimeMs now, Events& events) {
  Entry& entry = entries_.at(id);
  entry.slice.state = State::kEnded;
  entry.unclear = false;
  entry.due = now;
  entry.pause_ms = 0;
  tell(Kind::kNotMade, entry, events);
  events.back().error = error;
  events.back().nothing_there = !may_be_there(entry, now);
  if (events.back().nothing_there) forget(id, events);
}

void SliceBook::make_known(Entry& entry, const DeviceSlice& seen, Events& events) {
  entry.maybe_there = true;
  entry.unclear = entry.told_lost = false;
  if (entry.slice.state != State::kOrdered) return;
  entry.slice.state = State::kHeld;
  tell(Kind::kMade, entry, events);
  events.back().seen = seen;
}

SliceBook::Events SliceBook::destroyed(std::uint32_t id, const Result<void>& result, TimeMs now) {
  Events events;
  const auto at = entries_.find(id);
  if (at == entries_.end()) {
    const auto stranger = strangers_.find(id);
    if (stranger == strangers_.end()) return events;
    if (result) {
      returned_at_[id] = ++changes_;
      strangers_.erase(stranger);
    } else {
      if (is_unsettled(result.error())) late_returns_[id] = later(now, policy_.late_ms);
      stranger->second.return_until = {};
      back_off(stranger->second.due, stranger->second.pause_ms, policy_.return_pause_ms, now);
    }
    return events;
  }
  Entry& entry = at->second;
  entry.return_until = {};
  changed(entry);
  if (!result) {
    // It must not hit the next slice of this id.
    if (is_unsettled(result.error())) entry.late_until = later(now, policy_.late_ms);
    back_off(entry.due, entry.pause_ms, policy_.return_pause_ms, now);
    return events;
  }
  entry.maybe_there = false;
  entry.due = entry.late_until;
  if (!may_be_there(entry, now)) forget(id, events);
  return events;
}

void SliceBook::recover_forbidden(const Result<void>& result, TimeMs now) {
  ++changes_;
  if (result) {
    report_.recovers = false;
    recover_pause_ms_ = 0;
  } else {
    back_off(recover_due_, recover_pause_ms_, policy_.return_pause_ms, now);
  }
}

SliceBook::Events SliceBook::looked(const DeviceScan& scan,
                                    const std::optional<std::set<std::int64_t>>& own_processes,
                                    LookStart began, const MayLive& may_live, TimeMs now) {
  Events events;
  if (began.changes < last_look_began_) return events;  // a newer one has told
  last_look_began_ = began.changes;
  next_look_ = later(now, policy_.look_pause_ms);
  look_after_failure_ = now;
  look_pause_ms_ = 0;
  const SlicesSeen seen = still_true(slices_seen(scan, own_processes), began);
  std::erase_if(returned_at_, [began](const auto& one) { return one.second <= began.changes; });
  sightings_.note(of_strangers(seen), began.at);
  const std::vector<BookedSlice> book = booked(began, may_live);
  std::vector<std::uint32_t> ids;  // of its entries
  ids.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  SliceReview review = review_slices(book, seen, sightings_, policy_.foreign, began.at);
  for (auto& [id, entry] : entries_) entry.return_until = {};
  std::set<std::size_t> told;
  for (const SliceJudgement& judgement : review.slices) {
    if (judgement.booked) told.insert(*judgement.booked);
    if (!judgement.booked || book[*judgement.booked].in_flight) continue;
    found(entries_.at(judgement.id), judgement.verdict, scan, now, events);
  }
  told.insert(review.missing.begin(), review.missing.end());
  for (std::size_t i = 0; i < book.size(); ++i) {
    if (!told.contains(i) && !book[i].in_flight) unread(entries_.at(ids[i]), now);
  }
  for (const std::size_t index : review.missing) missing(ids[index], began, now, events);
  note_strangers(review, seen, now);
  report_.recovers = scan.slices_recover.valid && scan.slices_recover.value;
  report_.slices = std::move(review.slices);
  return events;
}

void SliceBook::look_failed(TimeMs now) {
  const std::int64_t pause_ms_max = std::min(policy_.pause_ms_max, kLookPauseMsMax);
  look_pause_ms_ =
      std::clamp(look_pause_ms_ * 2, policy_.look_pause_ms, std::max(policy_.look_pause_ms, pause_ms_max));
  look_after_failure_ = later(now, look_pause_ms_);
}

std::vector<OwnSlice> SliceBook::entries() const {
  std::vector<OwnSlice> all;
  all.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) all.push_back(entry.slice);
  return all;
}

void SliceBook::back_off(TimeMs& due, std::int64_t& pause_ms, std::int64_t first_ms, TimeMs now) const {
  pause_ms = std::clamp(pause_ms * 2, first_ms, std::max(first_ms, policy_.pause_ms_max));
  due = later(now, pause_ms);
}

void SliceBook::tell(Kind kind, const Entry& entry, Events& events) const {
  events.push_back({kind, entry.slice, {}, {}});
}

bool SliceBook::may_be_there(const Entry& entry, TimeMs now) const {
  return entry.maybe_there || entry.unclear || now < entry.late_until;
}

void SliceBook::forget(std::uint32_t id, Events& events) {
  const auto entry = entries_.find(id);
  tell(Kind::kReturned, entry->second, events);
  entries_.erase(entry);
  returned_at_[id] = ++changes_;
}

std::vector<BookedSlice> SliceBook::booked(LookStart began, const MayLive& may_live) const {
  std::vector<BookedSlice> all;
  for (const auto& [id, entry] : entries_) {
    BookedSlice one;
    one.physical_id = entry.slice.physical_id;
    one.id = id;
    one.template_name = entry.slice.template_name;
    one.state = entry.slice.state;
    // A look that began before the last change cannot know of it. An order that was not tried yet made
    // nothing.
    one.in_flight = entry.changed_at > began.changes || (one.state == State::kOrdered && !entry.unclear);
    one.supervised = one.state == State::kEnded && !one.in_flight && may_live(entry.slice.attempt);
    all.push_back(std::move(one));
  }
  return all;
}

SlicesSeen SliceBook::still_true(SlicesSeen seen, LookStart began) const {
  std::erase_if(seen.slices, [&](const SeenSlice& slice) {
    const auto returned = returned_at_.find(slice.id);
    return returned != returned_at_.end() && returned->second > began.changes;
  });
  return seen;
}

// Age is counted from when a slice is nobody's: what is cut under the id of one that was returned is another.
SlicesSeen SliceBook::of_strangers(const SlicesSeen& seen) const {
  SlicesSeen strangers = seen;
  std::erase_if(strangers.slices, [this](const SeenSlice& slice) { return entries_.contains(slice.id); });
  return strangers;
}

void SliceBook::found(Entry& entry, SliceVerdict verdict, const DeviceScan& scan, TimeMs now,
                      Events& events) {
  entry.maybe_there = true;
  switch (verdict) {
    case SliceVerdict::kAdopt:
      if (const DeviceSlice* slice = find_slice(scan, entry.slice)) make_known(entry, *slice, events);
      return;
    case SliceVerdict::kKeep:
      entry.told_lost = false;
      return;
    case SliceVerdict::kReclaim:
      entry.return_until = later(now, policy_.verdict_ms);
      return;
    case SliceVerdict::kWait:
    case SliceVerdict::kForeign:
      if (entry.slice.state == State::kEnded && entry.due <= now)
        back_off(entry.due, entry.pause_ms, policy_.return_pause_ms, now);
      return;
  }
}

// Its NPU could not be read: the looks of others will tell when it can.
void SliceBook::unread(Entry& entry, TimeMs now) const {
  if (entry.due <= now) back_off(entry.due, entry.pause_ms, policy_.look_pause_ms, now);
}

void SliceBook::missing(std::uint32_t id, LookStart began, TimeMs now, Events& events) {
  Entry& entry = entries_.at(id);
  // What was held once may come again: a boot cuts anew what its file remembers.
  if (entry.slice.state != State::kHeld) entry.maybe_there = false;
  switch (entry.slice.state) {
    case State::kHeld:
      if (std::exchange(entry.told_lost, true)) return;
      tell(Kind::kLost, entry, events);
      return;
    case State::kOrdered:
      // A second order beside one that may be under way could outlive the slice that it makes.
      if (began.at < entry.late_until) return;
      entry.unclear = false;
      if (entry.tries >= policy_.create_tries) {
        give_up(id, entry.last_error.value_or(not_seen_error(entry.slice)), now, events);
      } else if (entry.tries > 0) {
        back_off(entry.due, entry.pause_ms, policy_.create_pause_ms, now);
      }
      return;
    case State::kEnded:
      entry.unclear = false;
      if (!may_be_there(entry, began.at)) forget(id, events);
      return;
  }
}

void SliceBook::note_strangers(const SliceReview& review, const SlicesSeen& seen, TimeMs now) {
  for (auto& [id, stranger] : strangers_) stranger.return_until = {};
  std::set<std::uint32_t> there;
  for (const SliceJudgement& judgement : review.slices) {
    if (judgement.own || !is_slice_id(judgement.physical_id, judgement.id)) continue;
    there.insert(judgement.id);
    Stranger& stranger = strangers_[judgement.id];
    if (stranger.template_name != judgement.template_name) stranger = {judgement.template_name, {}, {}, 0};
    if (judgement.verdict == SliceVerdict::kReclaim) stranger.return_until = later(now, policy_.verdict_ms);
  }
  const std::set<std::uint32_t> readable(seen.npus.begin(), seen.npus.end());
  std::erase_if(strangers_, [&](const auto& one) {
    return !there.contains(one.first) && readable.contains(npu_of(one.first));
  });
}

}  // namespace tangram::service

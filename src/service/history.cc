#include "service/history.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "service/event_hub.h"
#include "wire/event.h"

namespace tangram::service {
namespace {

constexpr std::size_t kPageMax = 1'000;      // events read from the store at once
constexpr std::size_t kScannedMax = 20'000;  // looked at for one page of the answer
constexpr std::size_t kRecentOwn = 16;       // of a job's own events, to know where it stands

EventCursor behind(const EventCursor& cursor) {
  if (cursor.item == EventCursor::kItemMax) return {cursor.sequence + 1, 0};
  return {cursor.sequence, cursor.item + 1};
}

// The events of one topic (or all) in one direction, read page by page.
class Walk {
 public:
  Walk(Store& store, EventRange range) : store_(store), range_(std::move(range)) { range_.limit = kPageMax; }

  // The next event; null at the end.
  Result<const StoredEvent*> peek() {
    if (at_ == page_.events.size() && !last_page_) TG_TRY_VOID(read());
    return at_ == page_.events.size() ? nullptr : &page_.events[at_];
  }
  void pop() { ++at_; }
  std::uint64_t lost_through() const { return page_.lost_through; }

 private:
  Result<void> read() {
    TG_TRY(page_, store_.read_events(range_));
    at_ = 0;
    last_page_ = page_.events.size() < range_.limit;
    if (!page_.events.empty()) {
      (range_.backwards ? range_.before : range_.after) = page_.events.back().cursor;
    }
    return {};
  }

  Store& store_;
  EventRange range_;
  StoredEvents page_;
  std::size_t at_ = 0;
  bool last_page_ = false;
};

// When a job was in the queue, and which NPUs it had when: what others' events mean to it.
class JobTimes {
 public:
  // From when on, and until when, events of an NPU may concern the job.
  struct Span {
    EventCursor after;
    EventCursor before{std::numeric_limits<std::uint64_t>::max(), 0};
  };

  static Result<JobTimes> of(Store& store, JobTrack track) {
    EventRange own;
    own.topic = track.topic();
    Walk walk(store, own);
    JobTimes times;
    while (times.changes_.size() < kScannedMax) {
      TG_TRY(const StoredEvent* const stored, walk.peek());
      if (stored == nullptr) break;
      // Its beginning is no longer kept: it was in the queue before.
      const bool is_first = times.changes_.empty();
      if (is_first)
        times.queued_before_ = stored->event.type != wire::to_string(wire::EventType::kJobSubmitted);
      const std::vector<std::string> held = track.held();
      (void)track.passes(stored->event);
      times.changes_.push_back({stored->cursor, track.queued(), track.held()});
      for (const std::string& topic : track.held()) times.open(topic, stored->cursor);
      if (track.held().empty()) {
        for (const std::string& topic : held) TG_TRY_VOID(times.close(store, track, topic, stored->cursor));
      }
      walk.pop();
    }
    return times;
  }

  bool was_queued(const EventCursor& cursor) const {
    const Change* change = last_before(cursor);
    return change == nullptr ? queued_before_ : change->queued;
  }
  bool held(const std::string& topic, const EventCursor& cursor) const {
    const Change* change = last_before(cursor);
    return change != nullptr &&
           std::find(change->held.begin(), change->held.end(), topic) != change->held.end();
  }
  // By topic of the NPU.
  const std::map<std::string, Span>& spans() const { return spans_; }

 private:
  struct Change {
    EventCursor cursor;
    bool queued = false;
    std::vector<std::string> held;
  };

  const Change* last_before(const EventCursor& cursor) const {
    const auto later =
        std::upper_bound(changes_.begin(), changes_.end(), cursor,
                         [](const EventCursor& c, const Change& change) { return c < change.cursor; });
    return later == changes_.begin() ? nullptr : &*std::prev(later);
  }

  void open(const std::string& topic, const EventCursor& at) {
    Span& span = spans_.try_emplace(topic, Span{at}).first->second;
    span.before = Span().before;
  }

  // A slice is returned when its attempt has ended: its event is looked for so far behind that.
  Result<void> close(Store& store, const JobTrack& track, const std::string& topic, const EventCursor& at) {
    Span& span = spans_.at(topic);
    span.before = behind(at);
    if (!track.has_slice()) return {};
    EventRange rest;
    rest.topic = topic;
    rest.after = at;
    rest.limit = kPageMax;
    TG_TRY(const StoredEvents stored, store.read_events(rest));
    for (const StoredEvent& one : stored.events) {
      span.before = behind(one.cursor);
      const bool is_returned = one.event.type == wire::to_string(wire::EventType::kSliceReturned);
      if (is_returned && track.is_of_slice(one.event)) return {};
    }
    // What has happened so far does not show it: it is still to come.
    if (stored.events.size() < kPageMax) span.before = Span().before;
    return {};
  }

  std::vector<Change> changes_;
  std::map<std::string, Span> spans_;
  bool queued_before_ = true;
};

EventRange range_of(const HistoryRange& asked, std::string topic) {
  EventRange range;
  if (asked.after) range.after = *asked.after;
  if (asked.before) range.before = *asked.before;
  range.backwards = asked.newest;
  range.topic = std::move(topic);
  return range;
}

// The walk whose event comes next; null when all are at their end.
Result<Walk*> next_of(std::vector<Walk>& walks, bool backwards) {
  Walk* best = nullptr;
  EventCursor best_cursor;
  for (Walk& walk : walks) {
    TG_TRY(const StoredEvent* const stored, walk.peek());
    if (stored == nullptr) continue;
    const bool is_better =
        best == nullptr || (backwards ? best_cursor < stored->cursor : stored->cursor < best_cursor);
    if (!is_better) continue;
    best = &walk;
    best_cursor = stored->cursor;
  }
  return best;
}

bool concerns(const JobTrack& job, const JobTimes& times, const NewEvent& event, const EventCursor& cursor) {
  if (event.topic == job.topic() || job.is_of_slice(event)) return true;
  if (JobTrack::is_of_health(event)) return times.held(event.topic, cursor);
  return event.topic == job.group() && times.was_queued(cursor);
}

}  // namespace

Result<EventHistory> read_history(Store& store, EventFilter filter, const HistoryRange& range) {
  std::optional<JobTrack> job = std::exchange(filter.job, std::nullopt);
  JobTimes times;
  std::vector<Walk> walks;
  if (job) {
    TG_TRY(times, JobTimes::of(store, *job));
    walks.emplace_back(store, range_of(range, job->topic()));
    if (!job->group().empty()) walks.emplace_back(store, range_of(range, job->group()));
    for (const auto& [topic, span] : times.spans()) {
      EventRange narrow = range_of(range, topic);
      narrow.after = std::max(narrow.after, span.after);
      narrow.before = std::min(narrow.before, span.before);
      walks.emplace_back(store, std::move(narrow));
    }
  } else {
    walks.emplace_back(store, range_of(range, std::exchange(filter.topic, {})));
  }
  EventHistory history;
  for (std::size_t scanned = 0;; ++scanned) {
    TG_TRY(Walk* const walk, next_of(walks, range.newest));
    if (range.after) TG_TRY_VOID(check_kept(*range.after, walks.front().lost_through()));
    if (walk == nullptr) return history;
    TG_TRY(const StoredEvent* const stored, walk->peek());
    const bool is_wanted =
        filter.passes(stored->event) && (!job || concerns(*job, times, stored->event, stored->cursor));
    const EventCursor cursor = stored->cursor;
    if (is_wanted) history.events.push_back(stored->event.body);
    walk->pop();
    if (history.events.size() < range.limit && scanned < kScannedMax) continue;
    TG_TRY(const Walk* const more, next_of(walks, range.newest));
    if (more != nullptr) history.next = cursor;
    return history;
  }
}

Result<JobTrack> track_at(Store& store, JobTrack track, const EventCursor& position) {
  EventRange own;
  own.topic = track.topic();
  own.before = behind(position);
  own.backwards = true;
  own.limit = kRecentOwn;
  TG_TRY(StoredEvents stored, store.read_events(own));
  if (stored.events.empty()) {
    EventRange first;
    first.topic = track.topic();
    first.limit = 1;
    TG_TRY(const StoredEvents beginning, store.read_events(first));
    const bool submitted_later =
        !beginning.events.empty() &&
        beginning.events.front().event.type == wire::to_string(wire::EventType::kJobSubmitted);
    return JobTrack(track.topic(), track.group(), !submitted_later);
  }
  for (auto at = stored.events.rbegin(); at != stored.events.rend(); ++at) (void)track.passes(at->event);
  return track;
}

}  // namespace tangram::service

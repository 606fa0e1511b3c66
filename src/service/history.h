// Looking into the past: pages of kept events, forwards or backwards, at a cost that is bounded for each
// page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/store.h"
#include "service/event_filter.h"

namespace tangram::service {

struct HistoryRange {
  std::optional<EventCursor> after;   // none: from the oldest kept
  std::optional<EventCursor> before;  // none: to the newest
  bool newest = false;                // the newest first, going back
  std::size_t limit = 1'000;
};

struct EventHistory {
  std::vector<std::string> events;  // documents
  // Where to go on: as `after`, with `newest` as `before`. None: that was all. A page may be short, or empty,
  // and have a next one: it ends after a bounded number of events were looked at.
  std::optional<EventCursor> next;
};

// Errors: "events.cursor.gone" as EventHub::read(), for an `after` that is older than what is kept.
// Thread-safe.
Result<EventHistory> read_history(Store& store, EventFilter filter, const HistoryRange& range);

// The track of a job as it stands behind the events up to `position`.
Result<JobTrack> track_at(Store& store, JobTrack track, const EventCursor& position);

}  // namespace tangram::service

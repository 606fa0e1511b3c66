// Where the service keeps what it must not forget. Implemented by the journal; later by the Kubernetes API.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tangram {

// A place in the sequence of events: behind event `item` of record `sequence`, and before the next one.
struct EventCursor {
  static constexpr std::uint32_t kItemMax = (1U << 20) - 1;

  std::uint64_t sequence = 0;
  std::uint32_t item = kItemMax;  // kItemMax: behind all events of the record

  friend constexpr auto operator<=>(const EventCursor&, const EventCursor&) = default;
};

// What a record means to those who watch. The store keeps it beside its record and understands none of it.
struct NewEvent {
  std::string type;                    // "job.running"
  std::vector<std::uint32_t> tenants;  // whose it is, the innermost first; none: everybody's
  std::string topic;                   // what it is found by: "j-17"; may be empty
  std::string group;                   // a topic of others that concern it as well; may be empty
  std::string body;                    // JSON
};

struct NewRecord {
  TimeMs at;
  std::string kind;                   // "job_submitted"; a stable token, also for tools that read the journal
  std::string body;                   // JSON
  std::vector<NewEvent> events = {};  // kept and dropped together with the record
};

struct StoredEvent {
  EventCursor cursor;
  NewEvent event;
};

struct EventRange {
  EventCursor after{0, EventCursor::kItemMax};
  EventCursor before{std::numeric_limits<std::uint64_t>::max(), 0};
  std::string topic;       // empty: any
  bool backwards = false;  // the newest first
  std::size_t limit = 256;
};

struct StoredEvents {
  // The events of this record and of those before it are not kept (any more).
  std::uint64_t lost_through = 0;
  std::vector<StoredEvent> events;
};

struct StoredRecord {
  std::uint64_t sequence = 0;  // from 1, without gaps; also the cursor of events
  TimeMs at;
  std::string kind;
  std::string body;
};

struct Snapshot {
  std::uint64_t sequence = 0;  // the state after this record
  std::string body;
  bool intact = true;  // false, out of a store: the body is not the one that was saved
};

// All calls from one thread at a time, read_events() from any thread.
class Store {
 public:
  virtual ~Store() = default;

  // Appends all or nothing, in order, and returns when they are durable. The sequence of the first one.
  // On failure (disk full, I/O error) nothing of the batch is kept and the store stays usable.
  virtual Result<std::uint64_t> append(std::span<const NewRecord> records) = 0;

  // What the last append() waited for the disk to confirm, by a steady clock; zero where there is no disk.
  virtual std::chrono::nanoseconds last_sync_time() const { return std::chrono::nanoseconds(0); }

  // Calls `visit` for each record after `sequence`, in order; an error from it ends the walk and is returned.
  virtual Result<void> read_after(std::uint64_t sequence,
                                  const std::function<Result<void>(const StoredRecord&)>& visit) = 0;

  virtual Result<void> save_snapshot(const Snapshot& snapshot) = 0;
  // The newest snapshot that is older than record `sequence`, for when those from there on cannot be read.
  virtual Result<std::optional<Snapshot>> snapshot_before(std::uint64_t sequence) = 0;
  Result<std::optional<Snapshot>> latest_snapshot() {
    return snapshot_before(std::numeric_limits<std::uint64_t>::max());
  }

  // Drops records older than `before` that the latest snapshot already holds.
  virtual Result<void> compact(TimeMs before) = 0;

  // What append() kept, in the order of the cursors. Never makes append() wait. Thread-safe.
  virtual Result<StoredEvents> read_events(const EventRange& range) = 0;
};

}  // namespace tangram

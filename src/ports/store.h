// Where the service keeps what it must not forget. Implemented by the journal; later by the Kubernetes API.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace tangram {

struct NewRecord {
  TimeMs at;
  std::string kind;  // "job_submitted"; a stable token, also for tools that read the journal
  std::string body;  // JSON
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
};

// All calls from one thread at a time.
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
  virtual Result<std::optional<Snapshot>> latest_snapshot() = 0;

  // Drops records older than `before` that the latest snapshot already holds.
  virtual Result<void> compact(TimeMs before) = 0;
};

}  // namespace tangram

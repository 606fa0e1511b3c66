// The store on one machine: records and snapshots in one SQLite file, owned by one process.
//
//   LOCK          held with flock(2) by the owner, holds its pid
//   VERSION       the version of all that the directory holds
//   ACKNOWLEDGED  the newest record that append() acknowledged, as far as the kernel has written it
//   journal.db    write-ahead log, synchronous=FULL: what append() acknowledged survives a loss of power
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "ports/store.h"

namespace tangram::journal {

// All calls from one thread at a time, read_events() from any. Besides what Store says, errors:
//   "journal.disk_full", "journal.io_error", "journal.read_only", "journal.busy" (kUnavailable): nothing was
//   kept; goes
//       on by itself once the cause is gone
//   "journal.corrupt" (kDataLoss); from read_after() also, naming it, for a record that does not fit its
//       checksum
//   "journal.compacted" (kNotFound): read_after() asks for records that compact() has dropped; details: first
//   "journal.snapshot.ahead" (kInvalidArgument): a snapshot of records that do not exist
class Journal final : public Store {
 public:
  // Makes what is missing; migrates what an older version wrote. Errors besides the above:
  //   "journal.in_use" (kFailedPrecondition), names the process
  //   "journal.version.newer" (kFailedPrecondition), names both versions
  //   "journal.version.invalid" (kDataLoss)
  //   "journal.missing" (kDataLoss): the directory was in use before, but its journal is gone
  //   "journal.records_missing" (kDataLoss): acknowledged records are not there any more, since the
  //   write-ahead log is damaged or gone, or an older file was put in its place; details: last, acknowledged.
  //   An ACKNOWLEDGED that cannot be read refuses nothing: it is told to the log and made anew.
  // A damaged file is looked for after an unclean end only, and is never written to.
  static Result<std::unique_ptr<Journal>> open(const std::string& directory);

  ~Journal() override;

  Result<std::uint64_t> append(std::span<const NewRecord> records) override;
  std::chrono::nanoseconds last_sync_time() const override;
  Result<void> read_after(std::uint64_t sequence,
                          const std::function<Result<void>(const StoredRecord&)>& visit) override;
  // Keeps the newest two.
  Result<void> save_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> snapshot_before(std::uint64_t sequence) override;
  // In steps of a few thousand records, each a transaction.
  Result<void> compact(TimeMs before) override;
  Result<StoredEvents> read_events(const EventRange& range) override;

  // The sequence of the newest record ever appended; 0 when there was none.
  std::uint64_t last_sequence() const;

 private:
  struct Impl;
  explicit Journal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::journal

// The events beside the records: written in the transaction of their record, read over a connection of their
// own, so that a reader and the one who appends never wait for each other.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "journal/sqlite.h"
#include "ports/store.h"

namespace tangram::journal {

// The highest number of a record: with the place of an event behind it, it must fit into 63 bits.
inline constexpr std::uint64_t kSequenceMax = (std::uint64_t{1} << 43) - 1;

// For the connection and the thread of the one who appends.
class EventTable {
 public:
  static Result<EventTable> prepare(Database& database);

  // Inside the transaction of the record.
  Result<void> append(std::uint64_t sequence, const std::vector<NewEvent>& events);
  // Inside the transaction that drops these records.
  static Result<void> drop_through(Database& database, std::int64_t sequence);

 private:
  explicit EventTable(Statement insert) : insert_(std::move(insert)) {}

  Statement insert_;
};

// Thread-safe: readers take turns.
class EventReader {
 public:
  static Result<std::unique_ptr<EventReader>> open(const std::string& path);

  Result<StoredEvents> read(const EventRange& range);
  // While it is held nobody reads, and the write-ahead log can be emptied.
  std::unique_lock<std::mutex> pause() { return std::unique_lock(mutex_); }

 private:
  EventReader(Database database, Statement lost) : database_(std::move(database)), lost_(std::move(lost)) {}

  Result<std::uint64_t> lost_through();

  std::mutex mutex_;
  Database database_;
  Statement lost_;
};

}  // namespace tangram::journal

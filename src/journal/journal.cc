#include "journal/journal.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/crash_point.h"
#include "base/log.h"
#include "base/quote.h"
#include "journal/checksum.h"
#include "journal/events.h"
#include "journal/high_water_mark.h"
#include "journal/migrations.h"
#include "journal/sqlite.h"
#include "journal/state_directory.h"
#include "journal/sync_time.h"

namespace tangram::journal {
namespace {

constexpr std::int64_t kCompactStep = 4096;
constexpr std::int64_t kSnapshotsKept = 2;
constexpr const char* kMarkFile = "ACKNOWLEDGED";
constexpr std::int64_t kDatabaseBytesMin = 512;  // the smallest page

std::int64_t to_int64(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}
std::uint64_t to_uint64(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

// Size in bytes; 0 when there is no such file.
std::int64_t size_of(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

bool exists(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0;
}

tl::unexpected<Error> corrupt(const std::string& path, const std::string& what) {
  return fail(
      Code::kDataLoss, "journal.corrupt", path + " is damaged: " + what,
      "the file was left as it is: move it away with its -wal file and ACKNOWLEDGED, and put a backup in its "
      "place");
}

// A stored version that this program does not know must stay untouched.
Result<void> require_known(const std::string& where, std::int64_t version) {
  const std::int64_t known = migrations().back().to_version;
  if (version <= known) return {};
  return fail(Code::kFailedPrecondition, "journal.version.newer",
              where + " is of version " + std::to_string(version) +
                  ", and this program knows versions up to " + std::to_string(known),
              "start the newer program again, or choose another directory",
              {{"version", version}, {"known", known}});
}

// After a kill or a loss of power. Also that no record is missing in between.
Result<void> check_integrity(Database& database, const std::string& path) {
  TG_TRY(const std::string verdict, database.query_text("PRAGMA quick_check(1)"));
  if (verdict != "ok") return corrupt(path, printable(verdict));
  TG_TRY(const std::int64_t tables,
         database.query_int64("SELECT count(*) FROM sqlite_schema WHERE name = 'records'"));
  if (tables == 0) return {};
  TG_TRY(
      const std::int64_t missing,
      database.query_int64("SELECT coalesce(max(sequence) - min(sequence) + 1 - count(*), 0) FROM records"));
  if (missing != 0) return corrupt(path, std::to_string(missing) + " records are missing between others");
  return {};
}

}  // namespace

struct Journal::Impl {
  StateDirectory directory;
  std::string path;
  Database database;
  Statement insert;
  HighWaterMark mark;
  EventTable events;
  std::unique_ptr<EventReader> reader;
  std::uint64_t last = 0;
  std::chrono::nanoseconds last_sync_time{0};

  bool told_remains = false;  // since the last append that succeeded

  Result<void> require_in_place() const;
  Result<void> append_rows(std::span<const NewRecord> records);
  void drop_remains();
  Result<bool> compact_step(std::int64_t newest_held, TimeMs before);
};

namespace {

// The number of a record is never given twice: a compacted journal has it in its snapshot.
Result<std::uint64_t> last_record(Database& database, const std::string& path) {
  TG_TRY(const std::int64_t tables,
         database.query_int64("SELECT count(*) FROM sqlite_schema WHERE name IN ('records', 'snapshots')"));
  if (tables < 2) return std::uint64_t{0};
  TG_TRY(const std::int64_t last,
         database.query_int64("SELECT max((SELECT coalesce(max(sequence), 0) FROM records),"
                              " (SELECT coalesce(max(sequence), 0) FROM snapshots))"));
  TG_TRY(const std::int64_t first,
         database.query_int64("SELECT min((SELECT coalesce(min(sequence), 1) FROM records),"
                              " (SELECT coalesce(min(sequence), 0) FROM snapshots))"));
  if (first >= 0 && to_uint64(last) <= kSequenceMax) return to_uint64(last);
  return corrupt(
      path, "it holds number " + std::to_string(first < 0 ? first : last) + ", which no record can have");
}

// What was acknowledged must be there, or be missed by name.
Result<void> check_acknowledged(Database& database, const StateDirectory& directory,
                                const std::string& path) {
  const std::string mark_path = directory.file(kMarkFile);
  const std::optional<std::uint64_t> acknowledged = HighWaterMark::read(mark_path);
  if (!acknowledged) return {};
  TG_TRY(const std::uint64_t last, last_record(database, path));
  if (last >= *acknowledged) return {};
  return fail(Code::kDataLoss, "journal.records_missing",
              path + " ends with record " + std::to_string(last) + ", but records up to " +
                  std::to_string(*acknowledged) + " were acknowledged (" + mark_path +
                  "): its write-ahead log is damaged or gone, or an older file was put in its place",
              "the files were left as they are: put newer ones back from a backup, or remove " + mark_path +
                  " to go on without the missing records",
              {{"last", to_int64(last)}, {"acknowledged", to_int64(*acknowledged)}});
}

// Opens and checks the file without changing it.
Result<Database> open_checked(const StateDirectory& directory, const std::string& path) {
  TG_TRY(const std::optional<std::int64_t> version, directory.version());
  if (version) {
    TG_TRY_VOID(require_known("the state directory " + directory.path(), *version));
    if (!exists(path)) {
      return fail(Code::kDataLoss, "journal.missing",
                  path + " is gone, although " + directory.file("VERSION") + " shows that it was there",
                  "put a backup in its place and remove " + path +
                      "-wal, -shm and ACKNOWLEDGED beside it; or remove "
                      "these three and VERSION to start from nothing, which ends the jobs that still run");
    }
  }
  const bool unclean = size_of(path + "-wal") > 0;
  // SQLite takes such a file for a new one, and removes a log that lies beside it.
  if (const std::int64_t size = size_of(path); (version || unclean) && size < kDatabaseBytesMin) {
    return corrupt(path, "it has only " + std::to_string(size) + " bytes");
  }
  TG_TRY(Database database, Database::open(path));
  database.checkpoint_on_close(false);
  TG_TRY(const std::int64_t stored, database.query_int64("PRAGMA user_version"));
  TG_TRY_VOID(require_known(path, stored));
  if (version && stored == 0) return corrupt(path, "it holds no tables");
  if (stored > 0) {
    for (const char* const sql : {"SELECT sequence, at_ms, kind, body FROM records LIMIT 0",
                                  "SELECT sequence, body FROM snapshots LIMIT 0"}) {
      TG_TRY([[maybe_unused]] const Statement statement, database.prepare(sql));
    }
  }
  if (unclean) {
    log::info("journal: " + path + " was not closed; checking it");
    TG_TRY_VOID(check_integrity(database, path));
  }
  TG_TRY_VOID(check_acknowledged(database, directory, path));
  database.checkpoint_on_close(true);
  return database;
}

Result<void> prepare_tables(Database& database, const StateDirectory& directory, const std::string& path) {
  TG_TRY(const std::string mode, database.query_text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return fail(Code::kFailedPrecondition, "journal.unsuitable",
                path + ": the file system does not allow a write-ahead log (journal mode is " + mode + ")",
                "put the state directory on a local file system");
  }
  TG_TRY_VOID(database.execute("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864"));
  TG_TRY_VOID(migrate(database, migrations()));
  TG_CRASH_POINT("journal.before_version");
  const std::int64_t known = migrations().back().to_version;
  TG_TRY(const std::optional<std::int64_t> version, directory.version());
  if (version != known) TG_TRY_VOID(directory.set_version(known));
  return directory.sync();
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& directory_path) {
  TG_TRY(StateDirectory directory, StateDirectory::own(directory_path));
  const std::string path = directory.file("journal.db");
  auto opened = [&]() -> Result<std::unique_ptr<Journal>> {
    TG_TRY(Database database, open_checked(directory, path));
    TG_TRY_VOID(prepare_tables(database, directory, path));
    TG_TRY(const std::uint64_t last, last_record(database, path));
    HighWaterMark mark = HighWaterMark::open(directory.file(kMarkFile), last);
    TG_TRY_VOID(directory.sync());
    TG_TRY(
        Statement insert,
        database.prepare("INSERT INTO records(sequence, at_ms, kind, body, checksum) VALUES(?, ?, ?, ?, ?)"));
    TG_TRY(EventTable events, EventTable::prepare(database));
    TG_TRY(std::unique_ptr<EventReader> reader, EventReader::open(path));
    auto impl = std::unique_ptr<Impl>(new Impl{std::move(directory),
                                               path,
                                               std::move(database),
                                               std::move(insert),
                                               std::move(mark),
                                               std::move(events),
                                               std::move(reader),
                                               last,
                                               {}});
    return std::unique_ptr<Journal>(new Journal(std::move(impl)));
  }();
  if (opened) return opened;
  Error error = std::move(opened).error();
  // What SQLite cannot do with a file that this program made is the file's fault.
  if (error.reason == "journal.sqlite") error = corrupt(path, error.message).value();
  return fail(wrap("cannot open the journal", std::move(error)));
}

Journal::Journal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Journal::~Journal() = default;

std::uint64_t Journal::last_sequence() const {
  return impl_->last;
}

std::chrono::nanoseconds Journal::last_sync_time() const {
  return impl_->last_sync_time;
}

// ---- appending

// SQLite goes on writing to a file that has lost its name; what it holds would be lost with the process.
Result<void> Journal::Impl::require_in_place() const {
  if (!database.was_moved()) return {};
  return fail(Code::kUnavailable, "journal.moved",
              path + " was moved, removed or replaced while it is in use",
              "put the file back where it was, or stop the daemon and put a backup in its place");
}

Result<void> Journal::Impl::append_rows(std::span<const NewRecord> records) {
  TG_TRY_VOID(require_in_place());
  TG_TRY(Transaction transaction, Transaction::begin(database));
  std::int64_t sequence = to_int64(last);
  for (const NewRecord& record : records) {
    insert.bind(1, ++sequence);
    insert.bind(2, record.at.value);
    insert.bind(3, record.kind);
    insert.bind(4, record.body);
    insert.bind(5, checksum_of(sequence, record.at.value, record.kind, record.body));
    TG_TRY_VOID(insert.run());
    TG_TRY_VOID(events.append(to_uint64(sequence), record.events));
  }
  TG_CRASH_POINT("journal.before_commit");
  return transaction.commit();
}

// A commit whose fsync failed may have left all its frames in the write-ahead log, where a recovery would
// find them. The next append overwrites them; until then, emptying the log makes sure. Best effort: the disk
// may be full.
void Journal::Impl::drop_remains() {
  const auto nobody_reads = reader->pause();
  const auto emptied = database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  if (emptied || told_remains) return;
  told_remains = true;
  log::warn("journal: after a failed append: " + emptied.error().to_string());
}

Result<std::uint64_t> Journal::append(std::span<const NewRecord> records) {
  const std::uint64_t first = impl_->last + 1;
  if (records.empty()) return first;
  TG_CRASH_POINT("journal.before_append");
  const auto waited_before = sync_time();
  auto appended = impl_->append_rows(records);
  impl_->last_sync_time = sync_time() - waited_before;
  if (!appended) {
    impl_->drop_remains();
    return fail(wrap("cannot append " + std::to_string(records.size()) + " records to the journal",
                     std::move(appended).error()));
  }
  impl_->last += records.size();
  TG_CRASH_POINT("journal.before_mark");
  impl_->mark.raise(impl_->last);
  impl_->told_remains = false;
  TG_CRASH_POINT("journal.after_append");
  return first;
}

// ---- reading

Result<void> Journal::read_after(std::uint64_t sequence,
                                 const std::function<Result<void>(const StoredRecord&)>& visit) {
  if (sequence >= impl_->last) return {};
  TG_TRY(Statement select,
         impl_->database.prepare("SELECT sequence, at_ms, kind, body, checksum FROM records"
                                 " WHERE sequence > ? AND sequence <= ? ORDER BY sequence"));
  select.bind(1, to_int64(sequence));
  select.bind(2, to_int64(impl_->last));
  const std::uint64_t end = impl_->last + 1;
  std::uint64_t expected = sequence + 1;
  StoredRecord record;
  while (expected < end) {
    TG_TRY(const bool row, select.step());
    const std::uint64_t found = row ? to_uint64(select.column_int64(0)) : end;
    if (found != expected && expected == sequence + 1) {
      return fail(Code::kNotFound, "journal.compacted",
                  "the journal holds no records before " + std::to_string(found) + ", and " +
                      std::to_string(expected) + " was asked for",
                  "start from a snapshot", {{"first", to_int64(found)}});
    }
    if (found != expected) return corrupt(impl_->path, "record " + std::to_string(expected) + " is missing");
    record.sequence = found;
    record.at = TimeMs(select.column_int64(1));
    record.kind = select.column_text(2);
    record.body = select.column_text(3);
    if (checksum_of(to_int64(found), record.at.value, record.kind, record.body) != select.column_int64(4)) {
      return corrupt(impl_->path, "record " + std::to_string(found) + " does not fit its checksum");
    }
    ++expected;
    TG_TRY_VOID(visit(record));
  }
  return {};
}

Result<StoredEvents> Journal::read_events(const EventRange& range) {
  return impl_->reader->read(range);
}

// ---- snapshots

Result<void> Journal::save_snapshot(const Snapshot& snapshot) {
  TG_TRY_VOID(impl_->require_in_place());
  if (snapshot.sequence > impl_->last) {
    return fail(Code::kInvalidArgument, "journal.snapshot.ahead",
                "a snapshot after record " + std::to_string(snapshot.sequence) +
                    " cannot be, the newest is " + std::to_string(impl_->last));
  }
  TG_TRY(Statement insert, impl_->database.prepare(
                               "INSERT OR REPLACE INTO snapshots(sequence, body, checksum) VALUES(?, ?, ?)"));
  TG_TRY(Statement drop,
         impl_->database.prepare("DELETE FROM snapshots WHERE sequence NOT IN"
                                 " (SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT ?)"));
  insert.bind(1, to_int64(snapshot.sequence));
  insert.bind(2, snapshot.body);
  insert.bind(3, checksum_of(to_int64(snapshot.sequence), snapshot.body));
  drop.bind(1, kSnapshotsKept);
  TG_CRASH_POINT("journal.before_snapshot");
  TG_TRY(Transaction transaction, Transaction::begin(impl_->database));
  TG_TRY_VOID(insert.run());
  TG_TRY_VOID(drop.run());
  TG_TRY_VOID(transaction.commit());
  TG_CRASH_POINT("journal.after_snapshot");
  return {};
}

Result<std::optional<Snapshot>> Journal::snapshot_before(std::uint64_t sequence) {
  TG_TRY(Statement select,
         impl_->database.prepare("SELECT sequence, body, checksum FROM snapshots WHERE sequence < ?"
                                 " ORDER BY sequence DESC LIMIT 1"));
  select.bind(1, to_int64(std::min(sequence, kSequenceMax + 1)));
  TG_TRY(const bool row, select.step());
  if (!row) return std::optional<Snapshot>();
  const std::int64_t found = select.column_int64(0);
  const std::string_view body = select.column_text(1);
  return std::optional(
      Snapshot{to_uint64(found), std::string(body), checksum_of(found, body) == select.column_int64(2)});
}

// ---- compaction

// Drops one step's worth from the front, so that what stays has no gap. False: nothing more to drop.
Result<bool> Journal::Impl::compact_step(std::int64_t newest_held, TimeMs before) {
  TG_TRY(Statement oldest, database.prepare("SELECT sequence, at_ms FROM records WHERE sequence <= ?"
                                            " ORDER BY sequence LIMIT ?"));
  oldest.bind(1, newest_held);
  oldest.bind(2, kCompactStep);
  std::int64_t through = 0;
  std::int64_t count = 0;
  while (true) {
    TG_TRY(const bool row, oldest.step());
    if (!row || oldest.column_int64(1) >= before.value) break;
    through = oldest.column_int64(0);
    ++count;
  }
  if (count == 0) return false;
  oldest.reset();
  TG_TRY(Statement drop, database.prepare("DELETE FROM records WHERE sequence <= ?"));
  drop.bind(1, through);
  TG_CRASH_POINT("journal.compacting");
  TG_TRY(Transaction transaction, Transaction::begin(database));
  TG_TRY_VOID(drop.run());
  TG_TRY_VOID(EventTable::drop_through(database, through));
  TG_TRY_VOID(transaction.commit());
  return count == kCompactStep;
}

Result<void> Journal::compact(TimeMs before) {
  // A snapshot of nothing (sequence 0) holds no record.
  TG_TRY(const std::int64_t newest_held,
         impl_->database.query_int64("SELECT coalesce(max(sequence), 0) FROM snapshots"));
  bool more = newest_held > 0;
  while (more) {
    TG_TRY(const bool any_left, impl_->compact_step(newest_held, before));
    more = any_left;
  }
  return {};
}

}  // namespace tangram::journal

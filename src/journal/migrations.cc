#include "journal/migrations.h"

#include <array>
#include <string>

#include "base/crash_point.h"

namespace tangram::journal {
namespace {

// The number of a record is the row id, so that reading in order is reading the table. It is given by the
// journal and not by SQLite, which would use a number again once the last row is gone.
constexpr const char* kVersion1 = R"(
  CREATE TABLE records(
    sequence INTEGER PRIMARY KEY,
    at_ms    INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    body     TEXT NOT NULL);
  CREATE TABLE snapshots(
    sequence INTEGER PRIMARY KEY,
    body     TEXT NOT NULL);
)";

// Records of kinds that a program of version 1 does not know (token_*). The tables stay; the number makes
// such a program refuse the directory at once and in words, instead of stopping at the first of those
// records.
constexpr const char* kVersion2 = "";

// An event's id is the sequence of its record times 2^20, plus its place in the record: reading in order is
// reading the table, and an event is found by its cursor. `tenants` is a list of numbers: "3,1". The records
// of before have no events: whoever asks for them must hear so.
constexpr const char* kVersion3 = R"(
  CREATE TABLE events(
    id       INTEGER PRIMARY KEY,
    type     TEXT NOT NULL,
    tenants  TEXT NOT NULL,
    topic    TEXT NOT NULL,
    in_group TEXT NOT NULL,
    body     TEXT NOT NULL);
  CREATE INDEX events_by_topic ON events(topic) WHERE topic <> '';
  CREATE TABLE events_lost(through INTEGER NOT NULL);
  INSERT INTO events_lost SELECT max((SELECT coalesce(max(sequence), 0) FROM records),
                                     (SELECT coalesce(max(sequence), 0) FROM snapshots));
)";

// A bit that flips in a text can leave a text that still reads well. What an older version wrote counts as
// sound.
constexpr const char* kVersion4 = R"(
  ALTER TABLE records ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE snapshots ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
  UPDATE records SET checksum = checksum_of(sequence, at_ms, kind, body);
  UPDATE snapshots SET checksum = checksum_of(sequence, 0, 'snapshot', body);
)";

constexpr std::array kMigrations = {Migration{1, kVersion1}, Migration{2, kVersion2}, Migration{3, kVersion3},
                                    Migration{4, kVersion4}};

}  // namespace

std::span<const Migration> migrations() {
  return kMigrations;
}

Result<void> migrate(Database& database, std::span<const Migration> steps) {
  TG_TRY(const std::int64_t version, database.query_int64("PRAGMA user_version"));
  for (const Migration& step : steps) {
    if (step.to_version <= version) continue;
    TG_TRY(Transaction transaction, Transaction::begin(database));
    TG_TRY_VOID(database.execute(step.sql));
    TG_TRY_VOID(database.execute(("PRAGMA user_version = " + std::to_string(step.to_version)).c_str()));
    TG_CRASH_POINT("journal.migrating");
    TG_TRY_VOID(transaction.commit());
  }
  return {};
}

}  // namespace tangram::journal

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

constexpr std::array kMigrations = {Migration{1, kVersion1}};

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

// How the tables came to be what they are: one step per version, never changed once released.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "journal/sqlite.h"

namespace tangram::journal {

struct Migration {
  std::int64_t to_version;  // from the one before
  const char* sql;
};

// From nothing (version 0) to the version that this program writes.
std::span<const Migration> migrations();

// Brings the tables to the last version of `steps`, each step in a transaction of its own that also records
// its version, so that a kill in between leaves a whole version behind. Does nothing when the database is
// there already.
Result<void> migrate(Database& database, std::span<const Migration> steps);

}  // namespace tangram::journal

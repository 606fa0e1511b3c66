// The state out of what a store holds: the newest snapshot that can be read, and the records behind it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "catalog/catalog.h"
#include "ports/store.h"
#include "service/state.h"

namespace tangram::service {

struct Recovered {
  State state;
  std::uint64_t sequence = 0;           // of the last record in it
  std::uint64_t snapshot_sequence = 0;  // of the snapshot it began with; 0: from nothing
  std::uint64_t snapshot_entries = 0;   // jobs in that snapshot
};

// A snapshot that cannot be read is told to the log, and an older one takes its place as long as all records
// behind that are still kept. Errors: "snapshot.unreadable" (kDataLoss) when none will do;
// "record.impossible" (kDataLoss) for a record that cannot follow upon those before it; those of Store and of
// wire::decode_record(), naming the record.
Result<Recovered> recover(Store& store, const std::shared_ptr<const Catalog>& catalog = Catalog::builtin());

// Unfinished and ended jobs.
std::uint64_t entries_of(const State& state);

}  // namespace tangram::service

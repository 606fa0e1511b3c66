#include "service/recovery.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"

namespace tangram::service {
namespace {

Result<State> state_of(const Snapshot& snapshot, const std::shared_ptr<const Catalog>& catalog) {
  if (snapshot.intact) return State::from_snapshot(snapshot.body, catalog);
  return fail(Code::kDataLoss, "snapshot.unreadable",
              "the snapshot after record " + std::to_string(snapshot.sequence) +
                  " of the journal does not fit its checksum",
              "put a backup of the state directory in its place");
}

// Of the newest snapshot that can be read; `unreadable` is why a newer one could not.
Result<Recovered> read_snapshot(Store& store, const std::shared_ptr<const Catalog>& catalog,
                                std::optional<Error>& unreadable) {
  std::uint64_t before = std::numeric_limits<std::uint64_t>::max();
  while (true) {
    TG_TRY(const std::optional<Snapshot> snapshot, store.snapshot_before(before));
    if (!snapshot) return Recovered{State(catalog)};
    Result<State> state = state_of(*snapshot, catalog);
    if (state) {
      const std::uint64_t entries = entries_of(*state);
      return Recovered{*std::move(state), snapshot->sequence, snapshot->sequence, entries};
    }
    log::warn("the snapshot after record " + std::to_string(snapshot->sequence) +
              " is left out: " + state.error().to_string());
    if (!unreadable) unreadable = std::move(state).error();
    before = snapshot->sequence;
  }
}

Result<void> replay(Store& store, Recovered& recovered) {
  return store.read_after(recovered.sequence, [&](const StoredRecord& stored) -> Result<void> {
    Result<wire::JournalRecord> record = wire::decode_record(stored.kind, stored.body);
    Result<void> checked =
        record ? recovered.state.check(*record, stored.at) : Result<void>(fail(record.error()));
    if (!checked) {
      return fail(wrap("record " + std::to_string(stored.sequence) + " of the journal cannot be read",
                       std::move(checked).error()));
    }
    recovered.state.apply(*record, stored.at);
    recovered.sequence = stored.sequence;
    return {};
  });
}

}  // namespace

std::uint64_t entries_of(const State& state) {
  return state.live_jobs().size() + state.ended_jobs().size();
}

Result<Recovered> recover(Store& store, const std::shared_ptr<const Catalog>& catalog) {
  std::optional<Error> unreadable;
  TG_TRY(Recovered recovered, read_snapshot(store, catalog, unreadable));
  Result<void> replayed = replay(store, recovered);
  if (replayed) return recovered;
  // What is missing is what the snapshot stood for.
  if (unreadable && replayed.error().reason == "journal.compacted") return fail(*std::move(unreadable));
  return fail(std::move(replayed).error());
}

}  // namespace tangram::service

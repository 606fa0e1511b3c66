// The daemon's journal in memory, with the crash points of the real one, and a book of what it says of
// slices: kept by the test for itself, to hold against the hardware.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "model/ids.h"
#include "ports/store.h"
#include "service/fakes.h"
#include "slice_lives/fate.h"
#include "wire/record.h"

namespace tangram::lives {

class PlayedJournal final : public Store {
 public:
  struct Slice {
    JobId job;
    AttemptKey attempt;
    std::uint32_t npu = 0;  // physical id
    std::string template_name;
    bool made = false;
    bool ended = false;  // its attempt has
  };

  explicit PlayedJournal(Fate& fate) : fate_(fate) {}

  // As a daemon does before it reads.
  void open();

  Result<std::uint64_t> append(std::span<const NewRecord> records) override;
  Result<void> read_after(std::uint64_t sequence,
                          const std::function<Result<void>(const StoredRecord&)>& visit) override;
  Result<void> save_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> snapshot_before(std::uint64_t sequence) override;
  Result<void> compact(TimeMs before) override;
  Result<StoredEvents> read_events(const EventRange& range) override;

  const std::map<std::uint32_t, Slice>& slices() const { return slices_; }
  const std::set<JobId>& unfinished() const { return unfinished_; }
  int ordered() const { return ordered_; }
  int made() const { return made_; }

  // Called with a slice that the daemon takes for gone.
  std::function<void(std::uint32_t, const Slice&)> on_returned;

 private:
  void note(const NewRecord& record);
  void note_order(const wire::SliceOrdered& order);
  void note_end(const wire::AttemptEndedRecord& end);

  Fate& fate_;
  service::testing::FakeStore store_;
  bool migrated_ = false;
  bool has_version_ = false;
  bool has_mark_ = false;
  std::map<std::uint32_t, Slice> slices_;  // ordered, and not returned
  std::set<JobId> unfinished_;
  std::set<JobId> active_;
  int ordered_ = 0;
  int made_ = 0;
};

}  // namespace tangram::lives

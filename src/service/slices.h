// Wires the keeper of slices to the journal: orders it what the records say, and records what became of it.
//
//   JobStarted + SliceOrdered durable -> cut -> SliceMade durable -> the attempt is launched
//   AttemptEnded durable -> returned -> SliceReturned durable -> its place is given again
//
// A kill between any two of these steps is survived: the entries of the state say what was under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ports/devices.h"
#include "ports/executor.h"
#include "service/cut_refusals.h"
#include "service/lost_jobs.h"
#include "service/options.h"
#include "service/pace.h"
#include "service/slice_keeper.h"
#include "service/state_cell.h"
#include "service/timer.h"
#include "service/writer.h"

namespace tangram::service {

// What is lost, for those who are told so.
std::string slice_gone_text(std::uint32_t id, std::uint32_t physical_id);

// Thread-safe.
class Slices {
 public:
  Slices(Devices& devices, const Executor& executor, StateCell& cell, Writer& writer, Timer& timer,
         const Options& options, std::function<void()> look_soon);
  Slices(const Slices&) = delete;
  Slices& operator=(const Slices&) = delete;

  // Goes on with the entries of the recovered state. After Executor::start(), before Writer::start().
  void start();
  // Waits for the call under way; the slices stay as they are.
  void stop();

  // The effects of durable records; on the writer's thread.
  void on_records(std::span<const wire::JournalRecord> records);

  // For looks that are made anyway: begin_look() before Devices::scan(), look() with what it gave.
  LookStart begin_look() const { return keeper_.begin_look(); }
  void look(LookStart began, DeviceScan scan);
  // Those that were returned after a look had begun, which may show them all the same.
  std::set<std::uint32_t> returned_since(Pace::Time began);

  // Orders that were refused a moment ago, by id, and the NPU that rests for it.
  std::map<std::uint32_t, std::uint32_t> resting() const;
  // NPUs that the driver will not cut for as long as nothing changes.
  StandingRefusals refusals() const;
  // See CutRefusals.
  std::optional<CutRefusal> unusable_file() const;

  // Whose slice the hardware does not show any more.
  std::vector<LostJob> lost() const;

  bool step() { return keeper_.step(); }  // without threads

 private:
  void on_event(const SliceEvent& event);
  void made(const OwnSlice& slice);
  void not_made(const OwnSlice& slice, const Error& error, bool nothing_there);
  void returned(const OwnSlice& slice);
  // An NPU on which a slice could not be made is tried less and less, and others are given in its place.
  void rest(const OwnSlice& slice, int failures);
  int count_failure(const OwnSlice& slice);
  // True: the NPU is not to be cut any more.
  bool give_up_cutting(const OwnSlice& slice, const Error& error, int failures);
  void record_return(Transaction& transaction, const SliceEntry& entry, std::uint32_t id);

  StateCell& cell_;
  Writer& writer_;
  Timer& timer_;
  const Pace pace_;
  const std::function<void()> look_soon_;

  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::string> lost_;       // by id of the slice: what was lost
  std::map<std::uint32_t, Pace::Time> returned_;    // by id
  std::map<std::uint32_t, int> failures_;           // by NPU, since the last slice that was made there
  std::map<std::uint32_t, std::uint32_t> resting_;  // by id: the NPU
  CutRefusals refusals_;

  SliceKeeper keeper_;  // last: its thread uses all of the above
};

}  // namespace tangram::service

// Commands the executor for what the journal says, and reports to the writer what became of it. Leases have
// nothing to execute and are none of its business.
//
//   JobStarted durable -> prepare -> AttemptPrepared durable -> go -> running -> AttemptRunning
//                                                              exited -> AttemptEnded
//
// One that is given a slice is prepared when SliceMade is durable (Slices).
// A kill between any two of these steps is survived: see recover().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ports/executor.h"
#include "service/device_watch.h"
#include "service/lost_jobs.h"
#include "service/options.h"
#include "service/state_cell.h"
#include "service/timer.h"
#include "service/worker_pool.h"
#include "service/writer.h"

namespace tangram::service {

// Thread-safe.
class Attempts {
 public:
  Attempts(Executor& executor, StateCell& cell, Writer& writer, DeviceWatch& watch, Timer& timer,
           const Options& options);
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // Starts the executor and finds the attempts again that the recovered state calls active. One that never
  // got its `go` executed nothing, so its job goes back into the queue whatever its restart policy. After
  // Writer::recover(), before Writer::start().
  Result<void> recover();
  // Waits for commands to the executor that are under way; later ones are dropped, and the next daemon gives
  // them. Events of the executor are not heard any more: the next daemon gets them again.
  void stop();

  // The effects of durable records; on the writer's thread.
  void on_records(std::span<const wire::JournalRecord> records);
  // Stops the programs among them.
  void on_lost(std::span<const LostJob> lost);
  // Removes the directories of an ended job, then lets it be forgotten. Nothing while that is under way.
  void forget(JobId job, std::int32_t attempts);

  // Without threads: the next command to the executor; the next removal.
  bool step_effects() { return pool_.step(); }
  bool step_removals() { return removals_.step(); }

 private:
  // Between the executor's threads and this object, which may go first.
  struct Gate {
    std::mutex mutex;
    Attempts* target = nullptr;
  };

  Result<void> set_aside_unknown();
  void launch(JobId job, std::int32_t attempt);
  void tell_delay(const AttemptKey& key, const std::string& why);
  void release(JobId job, std::int32_t attempt);
  void stop_cancelled(JobId job);
  void end_uncut(JobId job);
  void stop_lost(const AttemptKey& key);
  void adopt(const AttemptKey& key, const std::optional<SupervisorIdentity>& identity);
  void on_running(const AttemptKey& key);
  void on_exited(const AttemptExit& exit);
  void classify(AttemptExit exit, const DeviceLook& look);
  void report_end(const AttemptExit& exit);
  void report_prepared(JobId job, std::int32_t attempt, SupervisorIdentity supervisor);

  Executor& executor_;
  StateCell& cell_;
  Writer& writer_;
  DeviceWatch& watch_;
  Timer& timer_;
  const Options options_;
  WorkerPool pool_;
  WorkerPool
      removals_;  // apart: what a tenant has left behind may take long to remove, and starts must not wait
  const std::shared_ptr<Gate> gate_;

  // That an attempt is not started yet.
  struct Delay {
    std::string why;
    Pace::Time told;
  };

  std::mutex mutex_;
  std::map<AttemptKey, Delay> delays_;         // until the attempt has ended
  std::map<AttemptKey, std::string> stopped_;  // for a lost device, and what was lost
  std::set<JobId> forgetting_;                 // their directories are being removed
};

}  // namespace tangram::service

// The core's whole state. Private to src/scheduler.
#pragma once

#include "model/job.h"
#include "model/record.h"
#include "placement/fleet.h"
#include "queue/wait_queue.h"
#include "quota/tenant_tree.h"
#include "scheduler/scheduler.h"

namespace tangram {

struct CoreState {
  SettingsChanged settings;
  TenantTree tenants;
  Fleet fleet;
  WaitQueue queue;
  TimeMs clock;                // the latest instant of any record: time never goes back
  std::uint64_t next_job = 0;  // the least id that was never seen
  TimeMs decided_at;           // the latest decide(); no part of the snapshot, only spares wake-ups

  bool is_overdue(TimeMs queued_at, TimeMs now) const {
    return tangram::is_overdue(queued_at, now, settings.keep_after_ms);
  }
  Rank rank(const Entry& entry, TimeMs now) const {
    return rank_of(entry.key, entry.queued_at, now, settings.keep_after_ms);
  }
  Rank rank(const JobRecord& job, TimeMs now) const {
    return rank_of(rank_key(job.spec.priority, job.spec.id), job.queued_at, now, settings.keep_after_ms);
  }
};

// What `request` with that bandwidth charges on a kind.
Amounts charge_on(const Fleet& fleet, std::uint32_t kind, const Request& request, std::int64_t bandwidth_bps);
// Where the search for a request begins, and the least it can charge on the hardware at hand.
Demand demand_of(const Fleet& fleet, const Request& request, std::int64_t bandwidth_bps);

GroupKey group_key(const JobSpec& spec);
// Puts a job into its group, where a record says that it is queued.
void enqueue(CoreState& state, Handle job);

struct Scheduler::State : CoreState {};

}  // namespace tangram

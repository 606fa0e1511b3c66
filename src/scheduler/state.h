// The core's whole state. Private to src/scheduler.
#pragma once

#include <optional>
#include <vector>

#include "model/job.h"
#include "model/record.h"
#include "placement/fleet.h"
#include "placement/place_index.h"
#include "queue/wait_queue.h"
#include "quota/tenant_tree.h"
#include "scheduler/hold.h"
#include "scheduler/parts.h"
#include "scheduler/scheduler.h"

namespace tangram {

struct CoreState {
  SettingsChanged settings;
  TenantTree tenants;
  Fleet fleet;
  WaitQueue queue;
  PartsTable parts;
  HoldTable holds;
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
Amounts charge_on(const CoreState& state, const SliceOffer& offer, std::int64_t bandwidth_bps);
// What a job charges that holds these NPUs, or that slice.
Amounts charge_of(const CoreState& state, const JobSpec& spec, NpuIndex first_npu,
                  const std::optional<SlicePlacement>& slice);

Need need_of(const Fleet& fleet, const Request& request);
inline SliceAsk ask_of(const Need& need) {
  return {need.memory, need.ai_cores};
}
// What a request needs of the hardware at hand, and the least it can charge there.
Demand demand_of(const CoreState& state, const Request& request, std::int64_t bandwidth_bps);

// The NPUs or the slice that a job was given.
void take(Fleet& fleet, JobId job, const std::vector<NpuIndex>& npus,
          const std::optional<SlicePlacement>& slice, bool require_free);
std::optional<SlicePlacement> slice_of(const Fleet& fleet, const JobRecord& job);

GroupKey group_key(const JobSpec& spec);
// Puts a job into its group, where a record says that it is queued.
void enqueue(CoreState& state, Handle job);

struct Scheduler::State : CoreState {
  PlaceIndex places;  // derived: what is asked again is only looked up
};

}  // namespace tangram

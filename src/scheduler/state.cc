#include "scheduler/state.h"

#include <algorithm>

#include "base/invariant.h"

namespace tangram {

Amounts charge_on(const Fleet& fleet, std::uint32_t kind, const Request& request,
                  std::int64_t bandwidth_bps) {
  TG_ASSERT(request.npus > 0 && kind < fleet.kind_count(), "a charge is for NPUs that exist");
  return {request.npus, fleet.kind(kind).memory.count * request.npus,
          std::int64_t{fleet.kind(kind).ai_cores} * request.npus, 1, bandwidth_bps};
}

Demand demand_of(const Fleet& fleet, const Request& request, std::int64_t bandwidth_bps) {
  Demand demand;
  demand.first_kind = fleet.first_kind_with(request.memory_per_npu);
  demand.least = {request.npus, request.memory_per_npu.count * request.npus, 0, 1, bandwidth_bps};
  bool found = false;
  for (std::uint32_t kind = demand.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < request.npus) continue;
    const Amounts charge = charge_on(fleet, kind, request, bandwidth_bps);
    for (std::size_t i = 0; i < kCountableCount; ++i) {
      demand.least[i] = found ? std::min(demand.least[i], charge[i]) : charge[i];
    }
    found = true;
  }
  return demand;
}

GroupKey group_key(const JobSpec& spec) {
  return {spec.tenant, spec.priority, spec.request, spec.bandwidth_bps};
}

void enqueue(CoreState& state, Handle job) {
  const JobSpec& spec = state.queue.job(job).spec;
  const GroupKey key = group_key(spec);
  TG_ASSERT(state.tenants.exists(spec.tenant), "a queued job has a tenant");
  Handle group = state.queue.find_group(key).value_or(kNoHandle);
  if (group == kNoHandle) {
    group = state.queue.ensure_group(key, demand_of(state.fleet, spec.request, spec.bandwidth_bps));
  }
  state.queue.enqueue(job, group);
  TG_ASSERT(state.queue.job(job).group == group, "an enqueued job is in its group");
}

}  // namespace tangram

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

Amounts charge_on(const CoreState& state, const SliceOffer& offer, std::int64_t bandwidth_bps) {
  if (offer.is_whole()) return charge_on(state.fleet, offer.kind, Request{}, bandwidth_bps);
  return charge_of_slice(state.settings.slice_count, offer.grant.memory, offer.grant.ai_cores, bandwidth_bps);
}

Amounts charge_of(const CoreState& state, const JobSpec& spec, NpuIndex first_npu,
                  const std::optional<SlicePlacement>& slice) {
  if (!slice)
    return charge_on(state.fleet, state.fleet.npu(first_npu).kind, spec.request, spec.bandwidth_bps);
  return charge_of_slice(state.settings.slice_count, slice->memory, slice->ai_cores, spec.bandwidth_bps);
}

Need need_of(const Fleet& fleet, const Request& request) {
  Need need;
  need.kind = request.kind;
  need.npus = request.npus;
  if (need.is_slice()) {
    const SliceAsk ask = fleet.round_up({request.memory_per_npu, request.ai_cores});
    need.memory = ask.memory;
    need.ai_cores = ask.ai_cores;
  } else {
    need.first_kind = fleet.first_kind_with(request.memory_per_npu);
  }
  return need;
}

Demand demand_of(const CoreState& state, const Request& request, std::int64_t bandwidth_bps) {
  if (request.has_parts()) return demand_of_parts(state, request, bandwidth_bps);
  const Fleet& fleet = state.fleet;
  Demand demand;
  demand.need = need_of(fleet, request);
  bool found = false;
  const auto consider = [&](const Amounts& charge) {
    for (std::size_t i = 0; i < kCountableCount; ++i) {
      demand.least[i] = found ? std::min(demand.least[i], charge[i]) : charge[i];
    }
    found = true;
  };
  if (demand.need.is_slice()) {
    for (const SliceOffer& offer : fleet.offers(ask_of(demand.need))) {
      consider(charge_on(state, offer, bandwidth_bps));
    }
    // No NPU is known that it could be cut from: the least that any template could come to.
    if (!found) {
      demand.least = charge_of_slice(state.settings.slice_count, request.memory_per_npu, request.ai_cores,
                                     bandwidth_bps);
    }
    return demand;
  }
  for (std::uint32_t kind = demand.need.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < request.npus) continue;
    consider(charge_on(fleet, kind, request, bandwidth_bps));
  }
  if (!found) demand.least = {request.npus, request.memory_per_npu.count * request.npus, 0, 1, bandwidth_bps};
  return demand;
}

void take(Fleet& fleet, JobId job, const std::vector<NpuIndex>& npus,
          const std::optional<SlicePlacement>& slice, bool require_free) {
  if (slice) {
    TG_ASSERT(npus.size() == 1, "a slice is of one NPU");
    fleet.take_slice(job, npus.front(), *slice, require_free);
  } else {
    fleet.take(job, npus, require_free);
  }
}

std::optional<SlicePlacement> slice_of(const Fleet& fleet, const JobRecord& job) {
  const SlicePlacement* slice = fleet.slice_of(job.spec.id, job.first_npu);
  return slice == nullptr ? std::nullopt : std::optional(*slice);
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
    group = state.queue.ensure_group(key, demand_of(state, spec.request, spec.bandwidth_bps));
  }
  state.queue.enqueue(job, group);
  TG_ASSERT(state.queue.job(job).group == group, "an enqueued job is in its group");
}

}  // namespace tangram

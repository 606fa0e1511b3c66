#include "scheduler/parts.h"

#include <algorithm>

#include "base/invariant.h"
#include "placement/node_fit.h"
#include "scheduler/state.h"

namespace tangram {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdU;
}

std::uint64_t hash_of(const std::vector<Part>& parts) {
  std::uint64_t hash = parts.size();
  for (const Part& part : parts) {
    hash = mix(hash, static_cast<std::uint64_t>(part.kind));
    hash = mix(hash, static_cast<std::uint64_t>(part.npus));
    hash = mix(hash, static_cast<std::uint64_t>(part.memory_per_npu.count));
    hash = mix(hash, static_cast<std::uint64_t>(part.ai_cores));
    for (const char letter : part.chip) hash = mix(hash, static_cast<unsigned char>(letter));
  }
  return hash;
}

// Without what a job charges once, however many parts it has.
Amounts charge_of_npus(std::int64_t npus, Bytes memory, std::int64_t ai_cores) {
  return {npus, memory.count * npus, ai_cores * npus, 0, 0};
}

Amounts charge_of_cut(const CoreState& state, Bytes memory, std::int32_t ai_cores) {
  Amounts charge = charge_of_slice(state.settings.slice_count, memory, ai_cores, 0);
  charge[index_of(Countable::kRunningJobs)] = 0;
  return charge;
}

void add(Amounts& sum, const Amounts& more) {
  for (std::size_t i = 0; i < kCountableCount; ++i) sum[i] += more[i];
}

template <class Visit>
void each_charge_of_part(const CoreState& state, const PartOffers& offers, const Visit& visit) {
  const Fleet& fleet = state.fleet;
  for (const SliceOffer& offer : offers.offers) {
    if (offer.is_whole()) {
      visit(charge_of_npus(1, fleet.kind(offer.kind).memory, fleet.kind(offer.kind).ai_cores));
    } else {
      visit(charge_of_cut(state, offer.grant.memory, offer.grant.ai_cores));
    }
  }
  for (std::uint32_t kind = 0; kind < offers.kinds.size(); ++kind) {
    if (offers.kinds[kind] == 0 || fleet.kind(kind).present_on_node_max < offers.part.npus) continue;
    visit(charge_of_npus(offers.part.npus, fleet.kind(kind).memory, fleet.kind(kind).ai_cores));
  }
}

ChargeRange range_of_part(const CoreState& state, const Part& part) {
  ChargeRange range;
  bool found = false;
  each_charge_of_part(state, offers_of(state.fleet, part), [&](const Amounts& charge) {
    for (std::size_t i = 0; i < kCountableCount; ++i) {
      range.least[i] = found ? std::min(range.least[i], charge[i]) : charge[i];
      range.most[i] = found ? std::max(range.most[i], charge[i]) : charge[i];
    }
    found = true;
  });
  if (!found) {
    range.least = part.kind == RequestKind::kSlice
                      ? charge_of_cut(state, part.memory_per_npu, part.ai_cores)
                      : charge_of_npus(part.npus, part.memory_per_npu, part.ai_cores);
    range.most = range.least;
  }
  return range;
}

}  // namespace

std::uint32_t PartsTable::use(const std::vector<Part>& parts) {
  const std::uint64_t hash = hash_of(parts);
  for (std::uint32_t i = 0; i < lists_.size(); ++i) {
    if (lists_[i].users == 0 || lists_[i].hash != hash || lists_[i].parts != parts) continue;
    ++lists_[i].users;
    return i;
  }
  auto handle = static_cast<std::uint32_t>(lists_.size());
  if (free_.empty()) {
    lists_.emplace_back();
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  lists_[handle] = {parts, hash, next_serial_++, 1};
  return handle;
}

void PartsTable::drop(std::uint32_t handle) {
  TG_ASSERT(handle < lists_.size() && lists_[handle].users > 0, "a list that is dropped was used");
  if (--lists_[handle].users > 0) return;
  lists_[handle].parts.clear();
  free_.push_back(handle);
}

Request request_of(const std::vector<Part>& parts, std::uint32_t handle) {
  Request request;
  for (const Part& part : parts)
    request.memory_per_npu = std::max(request.memory_per_npu, part.memory_per_npu);
  request.parts = handle;
  return request;
}

Part part_of(const Request& request) {
  Part part;
  part.kind = request.kind;
  part.npus = request.npus;
  part.memory_per_npu = request.memory_per_npu;
  if (request.kind == RequestKind::kSlice) part.ai_cores = request.ai_cores;
  return part;
}

std::vector<Part> parts_of(const CoreState& state, const JobSpec& spec) {
  if (spec.request.has_parts()) return state.parts.parts(spec.request.parts);
  return {part_of(spec.request)};
}

ChargeRange charge_range(const CoreState& state, const std::vector<Part>& parts, std::int64_t bandwidth_bps) {
  ChargeRange sum;
  for (const Part& part : parts) {
    const ChargeRange range = range_of_part(state, part);
    add(sum.least, range.least);
    add(sum.most, range.most);
  }
  const Amounts once{0, 0, 0, 1, bandwidth_bps};
  add(sum.least, once);
  add(sum.most, once);
  return sum;
}

Demand demand_of_parts(const CoreState& state, const Request& request, std::int64_t bandwidth_bps) {
  Demand demand;
  demand.least = charge_range(state, state.parts.parts(request.parts), bandwidth_bps).least;
  return demand;
}

Amounts admission_charge(const CoreState& state, const JobSpec& spec) {
  const ChargeRange range = charge_range(state, parts_of(state, spec), spec.bandwidth_bps);
  return state.tenants.first_block(spec.tenant, range.most) ? range.least : range.most;
}

Amounts charge_of_places(const CoreState& state, const JobSpec& spec, const std::vector<Part>& parts,
                         const std::vector<PartPlace>& places) {
  TG_ASSERT(places.size() == parts.size(), "each part has a place");
  Amounts sum{0, 0, 0, 1, spec.bandwidth_bps};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PartPlace& place = places[i];
    if (place.slice) {
      add(sum, charge_of_cut(state, place.slice->memory, place.slice->ai_cores));
      continue;
    }
    if (place.npus.empty()) add(sum, range_of_part(state, parts[i]).most);
    for (const NpuIndex npu : place.npus) {
      const NpuReport& report = state.fleet.npu(npu).report;
      add(sum, charge_of_npus(1, report.memory, report.ai_cores));
    }
  }
  return sum;
}

Amounts above(const Amounts& wanted, const Amounts& charged) {
  Amounts excess{};
  for (std::size_t i = 0; i < kCountableCount; ++i)
    excess[i] = std::max<std::int64_t>(wanted[i] - charged[i], 0);
  return excess;
}

}  // namespace tangram

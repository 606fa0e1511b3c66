// The part of Fleet that cuts NPUs.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/invariant.h"
#include "placement/fleet.h"

namespace tangram {
namespace {

// The least of `sizes`, which are ascending, with at least `wanted`.
template <class T>
T rounded_up(const std::vector<T>& sizes, T wanted, T beyond) {
  const auto place = std::lower_bound(sizes.begin(), sizes.end(), wanted);
  return place == sizes.end() ? beyond : *place;
}

}  // namespace

bool Fleet::set_slice_variants(bool variants) {
  if (variants == rules_.variants()) return false;
  rules_.set_variants(variants);
  rebuild();
  return true;
}

SliceAsk Fleet::round_up(SliceAsk ask) const {
  std::vector<Bytes> memories;
  std::vector<std::int32_t> cores;
  for (const Kind& kind : kinds_) {
    for (const CutChip& chip : kind.chips) {
      memories.push_back(kind.memory);
      cores.push_back(kind.ai_cores);
      for (const SliceSize& size : rules_.order(chip.chip).sizes()) {
        memories.push_back(size.memory);
        cores.push_back(size.ai_cores);
      }
    }
  }
  std::sort(memories.begin(), memories.end());
  std::sort(cores.begin(), cores.end());
  return {rounded_up(memories, ask.memory, Bytes::unlimited()),
          rounded_up(cores, ask.ai_cores, std::numeric_limits<std::int32_t>::max())};
}

std::vector<SliceOffer> Fleet::offers(const SliceAsk& ask) const {
  std::vector<SliceOffer> offers;
  for (std::uint32_t kind = 0; kind < kind_count(); ++kind) {
    bool has_whole = false;
    for (const CutChip& chip : kinds_[kind].chips) {
      const SliceGrant grant =
          grant_slice(rules_.order(chip.chip).sizes(), kinds_[kind].memory, kinds_[kind].ai_cores, ask);
      if (grant.kind == SliceGrant::Kind::kSlice) offers.push_back({kind, chip.chip, grant});
      if (grant.kind == SliceGrant::Kind::kWhole && !std::exchange(has_whole, true)) {
        offers.push_back({kind, kNoChip, grant});
      }
    }
  }
  std::sort(offers.begin(), offers.end(), [](const SliceOffer& a, const SliceOffer& b) {
    return std::tuple(a.grant.memory, a.grant.ai_cores, a.kind, a.chip) <
           std::tuple(b.grant.memory, b.grant.ai_cores, b.kind, b.chip);
  });
  return offers;
}

std::vector<Bytes> Fleet::slice_memories() const {
  std::vector<Bytes> memories;
  for (const Kind& kind : kinds_) {
    for (const CutChip& chip : kind.chips) {
      for (const SliceSize& size : rules_.order(chip.chip).sizes()) memories.push_back(size.memory);
    }
  }
  std::sort(memories.begin(), memories.end());
  memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
  return memories;
}

bool Fleet::any_cuttable() const {
  return std::any_of(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return !kind.chips.empty(); });
}

std::optional<SlicePlace> Fleet::choose(std::span<const SliceOffer> offers,
                                        const PlacementFilter& filter) const {
  for (std::uint32_t i = 0; i < offers.size(); ++i) {
    const SliceOffer& offer = offers[i];
    if (offer.is_whole()) {
      if (const std::optional<Place> place = choose_in(offer.kind, 1, filter)) {
        return SlicePlace{pick(*place, 1).front(), i, std::nullopt};
      }
      continue;
    }
    const std::optional<SliceIndex::Best> best = best_cut(offer, filter);
    if (!best) continue;
    const NpuIndex npu = best->cut.from == kUncut ? uncut_npu(offer, filter, best->npu) : best->npu;
    return SlicePlace{npu, i, rules_.cut_of(offer.chip, standing(npus_[npu.value]), best->cut.shape)};
  }
  return std::nullopt;
}

bool Fleet::fits(std::span<const SliceOffer> offers, const PlacementFilter& filter) const {
  return std::any_of(offers.begin(), offers.end(), [&](const SliceOffer& offer) {
    return offer.is_whole() ? choose_in(offer.kind, 1, filter).has_value()
                            : best_cut(offer, filter).has_value();
  });
}

bool Fleet::is_kept(std::span<const SliceOffer> offers, const PlacementFilter& filter) const {
  return std::any_of(offers.begin(), offers.end(), [&](const SliceOffer& offer) {
    return kinds_[offer.kind].healthy_on_node_max >= std::max(1, filter.kept(offer.kind));
  });
}

bool Fleet::fits_if_healthy(std::span<const SliceOffer> offers) const {
  for (const SliceOffer& offer : offers) {
    if (kinds_[offer.kind].present == kinds_[offer.kind].healthy) continue;
    for (const Npu& npu : npus_) {
      if (npu.report.health != Health::kOk && accepts(npu, offer, standing(npu))) return true;
    }
  }
  return false;
}

bool Fleet::exists_healthy(std::span<const SliceOffer> offers) const {
  return std::any_of(offers.begin(), offers.end(), [this](const SliceOffer& offer) {
    const Kind& kind = kinds_[offer.kind];
    if (offer.is_whole()) return kind.healthy > 0;
    return std::any_of(kind.chips.begin(), kind.chips.end(),
                       [&offer](const CutChip& chip) { return chip.chip == offer.chip && chip.healthy > 0; });
  });
}

Shortage Fleet::shortage(std::int32_t npus, std::uint32_t first_kind, const PlacementFilter& filter) const {
  Shortage shortage = Shortage::kNpus;
  for (std::uint32_t kind = first_kind; kind < kind_count(); ++kind) {
    if (kinds_[kind].cut == 0 || !filter.allows(kind)) continue;
    for (const Node& node : nodes_) {
      for (const Part& part : node.parts) {
        if (part.kind != kind) continue;
        if (part.free + part.all_residual >= npus) return Shortage::kResidual;
        if (part.free + part.cut >= npus) shortage = Shortage::kMemory;
      }
    }
  }
  return shortage;
}

Shortage Fleet::shortage(std::span<const SliceOffer> offers) const {
  bool has_memory = false;
  for (const SliceOffer& offer : offers) {
    const Kind& kind = kinds_[offer.kind];
    if (kind.with_residual > 0) {
      for (const Npu& npu : npus_) {
        if (npu.report.health != Health::kOk) continue;
        std::vector<StandingSlice> staying;
        staying.reserve(npu.slices.size() + npu.report.strays.size());
        for (const Slice& slice : npu.slices)
          staying.push_back({slice.placement.template_name, slice.placement.vgroup});
        for (const StraySlice& stray : npu.report.strays) {
          if (!stray.residual) staying.push_back({stray.template_name, stray.vgroup});
        }
        if (accepts(npu, offer, staying)) return Shortage::kResidual;
      }
    }
    if (offer.is_whole()) continue;
    const CutOrder& order = rules_.order(offer.chip);
    for (const std::uint32_t pool : kind.pools) {
      const SliceIndex* index = find_index(pools_[pool], offer.chip);
      for (SliceState state = 0; index != nullptr && !has_memory && state < order.states(); ++state) {
        has_memory = index->count(state) > 0 && order.has_memory(offer.grant.size, state);
      }
    }
  }
  return has_memory ? Shortage::kSlots : Shortage::kMemory;
}

bool Fleet::fits_without(NpuIndex index, std::span<const SliceOffer> offers,
                         std::span<const JobId> ended) const {
  const auto stays = [&](JobId job) { return std::find(ended.begin(), ended.end(), job) == ended.end(); };
  Npu npu = npus_[index.value];
  if (npu.report.health != Health::kOk) return false;
  if (npu.job.valid() && !stays(npu.job)) npu.job = JobId();
  std::erase_if(npu.slices, [&](const Slice& slice) { return !stays(slice.job); });
  return std::any_of(offers.begin(), offers.end(),
                     [&](const SliceOffer& offer) { return accepts(npu, offer, standing(npu)); });
}

void Fleet::take_slice(JobId job, NpuIndex index, const SlicePlacement& placement, bool require_legal,
                       std::uint32_t part_number) {
  TG_ASSERT(job.valid() && index.value < npus_.size(), "a job takes a slice of an NPU that is known");
  Npu& npu = npus_[index.value];
  TG_ASSERT(!npu.job.valid(), "an NPU that is held whole is not cut");
  TG_ASSERT(npu.slices.size() < static_cast<std::size_t>(kSlicesPerChipMax), "an NPU has few slices");
  TG_ASSERT(!require_legal || npu.report.health == Health::kOk, "only healthy NPUs are cut");
  Part* part = npu.kind == kNoKind ? nullptr : &part_of(npu);
  if (part != nullptr) tally(index, *part, -1);
  const auto place = std::lower_bound(
      npu.slices.begin(), npu.slices.end(), job, [part_number](const Slice& slice, JobId id) {
        return slice.job < id || (slice.job == id && slice.part < part_number);
      });
  TG_ASSERT(place == npu.slices.end() || place->job != job || place->part != part_number,
            "a part of a job has one slice");
  npu.slices.insert(place, {job, placement, part_number});
  restate(npu);
  TG_ASSERT(!require_legal || npu.state != kNoState, "a cut leads to a legal mix");
  if (part != nullptr) tally(index, *part, +1);
}

void Fleet::release_slice(JobId job, NpuIndex index, std::uint32_t part_number) {
  Npu& npu = npus_[index.value];
  Part* part = npu.kind == kNoKind ? nullptr : &part_of(npu);
  if (part != nullptr) tally(index, *part, -1);
  const std::size_t erased = std::erase_if(npu.slices, [job, part_number](const Slice& slice) {
    return slice.job == job && slice.part == part_number;
  });
  TG_ASSERT(erased == 1, "a job frees only its own slice");
  restate(npu);
  if (part != nullptr) tally(index, *part, +1);
}

const SlicePlacement* Fleet::slice_of(JobId job, NpuIndex npu) const {
  if (!npu.valid()) return nullptr;
  for (const Slice& slice : npus_[npu.value].slices) {
    if (slice.job == job) return &slice.placement;
  }
  return nullptr;
}

void Fleet::index_cuts(NpuIndex index, Pool& pool) {
  Npu& npu = npus_[index.value];
  if (npu.report.health != Health::kOk || npu.job.valid() || npu.state == kNoState) return;
  auto place = std::lower_bound(pool.cuts.begin(), pool.cuts.end(), npu.chip,
                                [](const Pool::Cuts& cuts, std::uint32_t chip) { return cuts.chip < chip; });
  if (place == pool.cuts.end() || place->chip != npu.chip) place = pool.cuts.insert(place, {npu.chip, {}});
  place->index.put(rules_.order(npu.chip), index, npu.state);
  npu.indexed = true;
}

void Fleet::unindex_cuts(NpuIndex index, Pool& pool) {
  Npu& npu = npus_[index.value];
  for (Pool::Cuts& cuts : pool.cuts) {
    if (cuts.chip == npu.chip) cuts.index.remove(rules_.order(npu.chip), index, npu.state);
  }
  npu.indexed = false;
}

const SliceIndex* Fleet::find_index(const Pool& pool, std::uint32_t chip) {
  for (const Pool::Cuts& cuts : pool.cuts) {
    if (cuts.chip == chip) return &cuts.index;
  }
  return nullptr;
}

void Fleet::restate(Npu& npu) const {
  npu.state = npu.chip == kNoChip ? kNoState : rules_.state_of(npu.chip, standing(npu));
}

std::vector<StandingSlice> Fleet::standing(const Npu& npu) {
  std::vector<StandingSlice> all;
  all.reserve(npu.slices.size() + npu.report.strays.size());
  for (const Slice& slice : npu.slices)
    all.push_back({slice.placement.template_name, slice.placement.vgroup});
  for (const StraySlice& stray : npu.report.strays) all.push_back({stray.template_name, stray.vgroup});
  return all;
}

bool Fleet::accepts(const Npu& npu, const SliceOffer& offer, const std::vector<StandingSlice>& slices) const {
  if (npu.kind != offer.kind || npu.job.valid()) return false;
  if (offer.is_whole()) return slices.empty();
  if (npu.chip != offer.chip) return false;
  const SliceState state = rules_.state_of(offer.chip, slices);
  return state != kNoState && rules_.order(offer.chip).rank(offer.grant.size, state) != CutOrder::kNoRank;
}

std::optional<SliceIndex::Best> Fleet::best_cut(const SliceOffer& offer,
                                                const PlacementFilter& filter) const {
  std::optional<SliceIndex::Best> best;
  if (!filter.allows(offer.kind)) return best;
  for (const std::uint32_t at : kinds_[offer.kind].pools) {
    const Pool& pool = pools_[at];
    if (pool.parts == 0 || pool.healthy >= filter.kept(offer.kind)) continue;
    const SliceIndex* index = find_index(pool, offer.chip);
    if (index == nullptr) continue;
    const std::optional<SliceIndex::Best> found = index->best(rules_.order(offer.chip), offer.grant.size);
    if (found && (!best || std::tie(found->rank, found->npu) < std::tie(best->rank, best->npu))) best = found;
  }
  return best;
}

// Among NPUs that are not cut yet, one of a node that has few free ones left for jobs that need several.
NpuIndex Fleet::uncut_npu(const SliceOffer& offer, const PlacementFilter& filter, NpuIndex lowest) const {
  const std::optional<Place> place = choose_in(offer.kind, 1, filter);
  TG_ASSERT(place.has_value(), "an NPU that is not cut is free");
  for (const NpuIndex index : nodes_[place->node.value].npus) {
    const Npu& npu = npus_[index.value];
    if (npu.chip == offer.chip && npu.kind == offer.kind && npu.indexed && npu.state == kUncut) return index;
  }
  return lowest;  // that node's free ones are cut by other templates
}

std::optional<Place> Fleet::choose_in(std::uint32_t kind, std::int32_t npus,
                                      const PlacementFilter& filter) const {
  if (!filter.allows(kind)) return std::nullopt;
  std::optional<std::pair<std::int32_t, std::uint32_t>> best;
  for (const std::uint32_t at : kinds_[kind].pools) {
    const Pool& pool = pools_[at];
    if (pool.parts == 0 || pool.healthy >= filter.kept(kind)) continue;
    for (std::int32_t free = npus; free <= pool.healthy && (!best || free <= best->first); ++free) {
      if (pool.counts[static_cast<std::size_t>(free)] == 0) continue;
      const std::pair found(free, first_node(pool, free));
      if (!best || found < *best) best = found;
      break;
    }
  }
  if (!best) return std::nullopt;
  return Place{NodeIndex(best->second), kind};
}

}  // namespace tangram

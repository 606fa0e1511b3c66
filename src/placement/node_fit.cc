#include "placement/node_fit.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/invariant.h"

namespace tangram {
namespace {

// How many picks are tried before a node is given up: a few parts on a few NPUs stay far below it.
constexpr std::int32_t kStepsMax = 4096;

bool is_of_model(const Fleet& fleet, const Part& part, std::uint32_t kind) {
  return part.chip.empty() || fleet.kind(kind).chip == part.chip;
}

bool contains(std::span<const NpuIndex> sorted, NpuIndex npu) {
  return std::binary_search(sorted.begin(), sorted.end(), npu);
}

}  // namespace

PartOffers offers_of(const Fleet& fleet, const Part& part) {
  PartOffers result;
  result.part = part;
  if (part.kind == RequestKind::kSlice) {
    result.offers = fleet.offers({part.memory_per_npu, part.ai_cores});
    std::erase_if(result.offers,
                  [&](const SliceOffer& offer) { return !is_of_model(fleet, part, offer.kind); });
    return result;
  }
  result.kinds.resize(fleet.kind_count());
  for (std::uint32_t kind = 0; kind < fleet.kind_count(); ++kind) {
    const bool is_large = fleet.kind(kind).memory >= part.memory_per_npu;
    result.kinds[kind] = is_large && is_of_model(fleet, part, kind) ? 1 : 0;
  }
  return result;
}

NodeFitter::NodeFitter(const Fleet& fleet, std::span<const PartOffers> parts) : fleet_(fleet), parts_(parts) {
  TG_ASSERT(!parts.empty(), "a job has a part");
  for (std::uint32_t i = 0; i < parts.size(); ++i) order_.push_back(i);
  std::stable_sort(order_.begin(), order_.end(), [&parts](std::uint32_t a, std::uint32_t b) {
    const auto key = [&parts](std::uint32_t i) {
      const Part& part = parts[i].part;
      const bool is_slice = part.kind == RequestKind::kSlice;
      return std::tuple(is_slice, -(is_slice ? 0 : part.npus), -part.memory_per_npu.count, -part.ai_cores);
    };
    return key(a) < key(b);
  });
}

NodeFit NodeFitter::judge(NodeIndex node, const NpuChoice& choice) {
  look_at(node, choice);
  NodeFit fit;
  fit.fits = search(0);
  if (fit.fits) {
    sum_up(fit);
  } else {
    count_refusals(fit);
  }
  return fit;
}

void NodeFitter::look_at(NodeIndex node, const NpuChoice& choice) {
  locals_.clear();
  idle_before_ = 0;
  for (const NpuIndex index : fleet_.npus_of(node)) {
    const Fleet::Npu& npu = fleet_.npu(index);
    if (npu.kind == kNoKind) continue;
    LocalNpu local;
    local.index = index;
    local.kind = npu.kind;
    local.chip = npu.chip;
    local.state = npu.state;
    local.healthy = npu.report.health == Health::kOk;
    local.held = npu.job.valid();
    local.idle = npu.is_idle();
    local.excluded =
        (!choice.only.empty() && !contains(choice.only, index)) || contains(choice.without, index);
    if (local.healthy && local.idle) ++idle_before_;
    locals_.push_back(local);
  }
  stuck_ = locals_;
  picks_.assign(parts_.size(), Pick{});
  deepest_ = 0;
  steps_ = 0;
}

bool NodeFitter::search(std::size_t depth) {
  if (depth == order_.size()) return true;
  if (depth > deepest_) {
    deepest_ = depth;
    stuck_ = locals_;
  }
  if (++steps_ > kStepsMax) return false;
  return parts_[order_[depth]].part.kind == RequestKind::kSlice ? try_slice(depth) : try_whole(depth);
}

std::int32_t NodeFitter::idle_of(std::uint32_t kind) const {
  return static_cast<std::int32_t>(std::count_if(locals_.begin(), locals_.end(), [kind](const LocalNpu& npu) {
    return npu.kind == kind && npu.may_be_used() && npu.idle;
  }));
}

// As Fleet::choose(): least memory, then fewest free that still fit, then lowest kind.
bool NodeFitter::try_whole(std::size_t depth) {
  const PartOffers& part = parts_[order_[depth]];
  std::vector<std::tuple<Bytes, std::int32_t, std::uint32_t>> kinds;
  for (const LocalNpu& npu : locals_) {
    if (part.kinds[npu.kind] == 0) continue;
    const bool is_known = std::any_of(kinds.begin(), kinds.end(),
                                      [&npu](const auto& known) { return std::get<2>(known) == npu.kind; });
    if (is_known) continue;
    const std::int32_t idle = idle_of(npu.kind);
    if (idle >= part.part.npus) kinds.emplace_back(fleet_.kind(npu.kind).memory, idle, npu.kind);
  }
  std::sort(kinds.begin(), kinds.end());
  return std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
    // The lowest ones; if that leaves no room for other parts, those first from which no slice could be cut.
    return try_whole_on(depth, std::get<2>(kind), false) || try_whole_on(depth, std::get<2>(kind), true);
  });
}

bool NodeFitter::try_whole_on(std::size_t depth, std::uint32_t kind, bool uncuttable_first) {
  const auto wanted = static_cast<std::size_t>(parts_[order_[depth]].part.npus);
  std::vector<std::uint32_t> taken;
  for (std::uint32_t i = 0; i < locals_.size(); ++i) {
    if (locals_[i].kind == kind && locals_[i].may_be_used() && locals_[i].idle) taken.push_back(i);
  }
  if (uncuttable_first) {
    const std::vector<std::uint32_t> lowest = taken;
    std::stable_partition(taken.begin(), taken.end(),
                          [this](std::uint32_t i) { return locals_[i].chip == kNoChip; });
    if (taken == lowest) return false;  // tried already
  }
  taken.resize(wanted);
  Pick& pick = picks_[order_[depth]];
  pick = Pick{};
  pick.kind = kind;
  pick.npus = taken;
  for (const std::uint32_t i : taken) locals_[i].held = true;
  if (search(depth + 1)) return true;
  for (const std::uint32_t i : taken) locals_[i].held = false;
  return false;
}

bool NodeFitter::try_slice(std::size_t depth) {
  const PartOffers& part = parts_[order_[depth]];
  for (std::uint32_t i = 0; i < part.offers.size(); ++i) {
    if (part.offers[i].is_whole() ? try_uncut(depth, i) : try_cuts(depth, i)) return true;
  }
  return false;
}

// The whole NPU instead of a slice. NPUs of one kind differ in what else could be cut from them.
bool NodeFitter::try_uncut(std::size_t depth, std::uint32_t offer) {
  const std::uint32_t kind = parts_[order_[depth]].offers[offer].kind;
  std::vector<std::uint32_t> chips;
  for (std::uint32_t i = 0; i < locals_.size(); ++i) {
    if (locals_[i].kind != kind || !locals_[i].may_be_used() || !locals_[i].idle) continue;
    if (std::find(chips.begin(), chips.end(), locals_[i].chip) != chips.end()) continue;
    chips.push_back(locals_[i].chip);
    Pick& pick = picks_[order_[depth]];
    pick = Pick{};
    pick.npus = {i};
    pick.kind = kind;
    pick.offer = offer;
    locals_[i].held = true;
    if (search(depth + 1)) return true;
    locals_[i].held = false;
  }
  return false;
}

bool NodeFitter::try_cuts(std::size_t depth, std::uint32_t number) {
  const SliceOffer& offer = parts_[order_[depth]].offers[number];
  const CutOrder& order = fleet_.rules().order(offer.chip);
  // Best state first; of one state the lowest handle, of uncut NPUs the lowest physical id, as
  // Fleet::choose().
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> found;
  for (std::uint32_t i = 0; i < locals_.size(); ++i) {
    const LocalNpu& npu = locals_[i];
    if (npu.kind != offer.kind || npu.chip != offer.chip || !npu.may_be_used() || npu.state == kNoState)
      continue;
    const std::uint32_t rank = order.rank(offer.grant.size, npu.state);
    if (rank != CutOrder::kNoRank) found.emplace_back(rank, npu.state == kUncut ? 0 : npu.index.value, i);
  }
  std::sort(found.begin(), found.end());
  std::uint32_t last = CutOrder::kNoRank;
  for (const auto& [rank, handle, i] : found) {
    if (rank == last) continue;  // another NPU in the same state
    last = rank;
    const CutOrder::Cut& best = order.cuts(offer.grant.size)[rank];
    if (try_cut(depth, {number, i, rank, best.shape, best.to})) return true;
    // Other templates of that size leave other things: of one part alone the best one is the end of it.
    if (depth + 1 == order_.size()) continue;
    for (const std::uint32_t shape : order.sizes()[offer.grant.size].variants) {
      const SliceState to = fleet_.rules().catalog()->chip(offer.chip).table.cut(best.from, shape);
      if (shape == best.shape || to == kNoState) continue;
      if (try_cut(depth, {number, i, rank, shape, to})) return true;
    }
  }
  return false;
}

bool NodeFitter::try_cut(std::size_t depth, const Cutting& cutting) {
  const LocalNpu before = locals_[cutting.npu];
  Pick& pick = picks_[order_[depth]];
  pick = Pick{};
  pick.npus = {cutting.npu};
  pick.kind = before.kind;
  pick.offer = cutting.offer;
  pick.shape = cutting.shape;
  pick.rank = cutting.rank;
  pick.is_slice = true;
  locals_[cutting.npu].state = cutting.to;
  locals_[cutting.npu].idle = false;
  if (search(depth + 1)) return true;
  locals_[cutting.npu] = before;
  return false;
}

std::vector<PartPlace> NodeFitter::places() const {
  std::vector<PartPlace> places(parts_.size());
  std::vector<std::vector<StandingSlice>> standing(locals_.size());
  std::vector<std::uint8_t> is_known(locals_.size(), 0);
  for (const std::uint32_t i : order_) {
    const Pick& pick = picks_[i];
    TG_ASSERT(!pick.npus.empty(), "each part has found its place");
    for (const std::uint32_t local : pick.npus) places[i].npus.push_back(locals_[local].index);
    std::sort(places[i].npus.begin(), places[i].npus.end());
    if (!pick.is_slice) continue;
    const std::uint32_t at = pick.npus.front();
    if (std::exchange(is_known[at], std::uint8_t{1}) == 0) {
      standing[at] = Fleet::standing(fleet_.npu(locals_[at].index));
    }
    const std::uint32_t chip = parts_[i].offers[pick.offer].chip;
    SlicePlacement cut = fleet_.rules().cut_of(chip, standing[at], pick.shape);
    standing[at].push_back({fleet_.rules().model(chip).templates[pick.shape].name, cut.vgroup});
    places[i].slice = std::move(cut);
  }
  return places;
}

void NodeFitter::sum_up(NodeFit& fit) const {
  std::int64_t loss = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Pick& pick = picks_[i];
    if (!pick.is_slice) {
      const auto count = static_cast<std::int32_t>(pick.npus.size());
      fit.whole_npus += count;
      fit.memory += fleet_.kind(pick.kind).memory * count;
      fit.ai_cores += std::int64_t{fleet_.kind(pick.kind).ai_cores} * count;
      continue;
    }
    const SliceOffer& offer = parts_[i].offers[pick.offer];
    ++fit.slices;
    fit.memory += offer.grant.memory;
    fit.ai_cores += offer.grant.ai_cores;
    const auto ranks =
        static_cast<std::int64_t>(fleet_.rules().order(offer.chip).cuts(offer.grant.size).size());
    loss += 100 * std::int64_t{pick.rank} / std::max<std::int64_t>(ranks, 1);
  }
  if (fit.slices > 0) loss /= fit.slices;
  // Nodes that are in use already go first: whole nodes stay free for who needs several NPUs.
  const auto present = static_cast<std::int64_t>(locals_.size());
  const std::int64_t busy = 100 * (present - idle_before_) / present;
  fit.score = static_cast<std::int32_t>(((100 - loss) * 3 + busy * 2) / 5);
}

void NodeFitter::count_refusals(NodeFit& fit) const {
  const PartOffers& part = parts_[order_[deepest_]];
  std::int32_t enough = 0;  // that could do some day
  for (const LocalNpu& npu : stuck_) {
    if (!is_of_model(fleet_, part.part, npu.kind)) continue;
    ++fit.npus;
    if (npu.excluded) {
      ++fit.excluded;
      continue;
    }
    const ReasonCode reason = refusal(part, npu);
    const auto* const place = std::find(kNpuRefusals.begin(), kNpuRefusals.end(), reason);
    if (place != kNpuRefusals.end()) ++fit.refusing[static_cast<std::size_t>(place - kNpuRefusals.begin())];
    const bool is_never = reason == ReasonCode::kSliceUnsupported || reason == ReasonCode::kAiCoresNever ||
                          reason == ReasonCode::kMemoryNever;
    if (!is_never) ++enough;
  }
  if (stuck_.empty()) {
    fit.reason = ReasonCode::kNoDevices;
    return;
  }
  const std::int32_t wanted = part.part.kind == RequestKind::kSlice ? 1 : part.part.npus;
  if (enough > 0 && enough < wanted) {
    fit.reason = ReasonCode::kNpusNever;
    return;
  }
  fit.reason = ReasonCode::kNpusNever;
  for (std::size_t i = 0; i < kNpuRefusals.size(); ++i) {
    if (fit.refusing[i] == 0) continue;
    fit.reason = kNpuRefusals[i];
    return;
  }
}

ReasonCode NodeFitter::refusal(const PartOffers& part, const LocalNpu& npu) const {
  const bool is_slice = part.part.kind == RequestKind::kSlice;
  if (!npu.healthy) return ReasonCode::kNpusUnhealthy;
  if (!is_slice) {
    return part.kinds[npu.kind] == 0 ? ReasonCode::kMemoryNever : refusal_of_whole(npu);
  }
  const auto offer = std::find_if(part.offers.begin(), part.offers.end(), [&npu](const SliceOffer& one) {
    return one.kind == npu.kind && (one.is_whole() || one.chip == npu.chip);
  });
  if (offer == part.offers.end()) {
    if (npu.chip == kNoChip) return ReasonCode::kSliceUnsupported;
    return fleet_.kind(npu.kind).memory < part.part.memory_per_npu ? ReasonCode::kMemoryNever
                                                                   : ReasonCode::kAiCoresNever;
  }
  if (npu.held) return ReasonCode::kMemoryBusy;
  if (offer->is_whole()) return refusal_of_whole(npu);
  const CutOrder& order = fleet_.rules().order(offer->chip);
  if (npu.state != kNoState && order.rank(offer->grant.size, npu.state) != CutOrder::kNoRank) {
    return ReasonCode::kNone;
  }
  if (fits_without_residual(npu, *offer)) return ReasonCode::kSlicesResidual;
  const bool has_memory = npu.state != kNoState && order.has_memory(offer->grant.size, npu.state);
  return has_memory ? ReasonCode::kSlotsBusy : ReasonCode::kMemoryBusy;
}

ReasonCode NodeFitter::refusal_of_whole(const LocalNpu& npu) const {
  if (npu.held) return ReasonCode::kNpusBusy;
  if (npu.idle) return ReasonCode::kNone;
  return is_residual_alone(npu) ? ReasonCode::kSlicesResidual : ReasonCode::kMemoryBusy;
}

bool NodeFitter::is_residual_alone(const LocalNpu& npu) const {
  const Fleet::Npu& known = fleet_.npu(npu.index);
  return known.slices.empty() && !known.report.strays.empty() &&
         std::all_of(known.report.strays.begin(), known.report.strays.end(),
                     [](const StraySlice& stray) { return stray.residual; });
}

bool NodeFitter::fits_without_residual(const LocalNpu& npu, const SliceOffer& offer) const {
  const Fleet::Npu& known = fleet_.npu(npu.index);
  const auto is_residual = [](const StraySlice& stray) { return stray.residual; };
  if (std::none_of(known.report.strays.begin(), known.report.strays.end(), is_residual)) return false;
  std::vector<StandingSlice> staying;
  staying.reserve(known.slices.size() + known.report.strays.size());
  for (const Fleet::Slice& slice : known.slices)
    staying.push_back({slice.placement.template_name, slice.placement.vgroup});
  for (const StraySlice& stray : known.report.strays) {
    if (!stray.residual) staying.push_back({stray.template_name, stray.vgroup});
  }
  const SliceState state = fleet_.rules().state_of(offer.chip, staying);
  return state != kNoState &&
         fleet_.rules().order(offer.chip).rank(offer.grant.size, state) != CutOrder::kNoRank;
}

}  // namespace tangram

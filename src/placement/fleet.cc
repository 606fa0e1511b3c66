#include "placement/fleet.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "base/invariant.h"

namespace tangram {
namespace {

constexpr std::size_t kBitsPerWord = 64;

bool is_present(const NpuReport& report) {
  return report.health != Health::kAbsent;
}
bool is_healthy(const NpuReport& report) {
  return report.health == Health::kOk;
}

void add_chip(std::vector<Fleet::CutChip>& chips, const Fleet::CutChip& more) {
  auto place =
      std::lower_bound(chips.begin(), chips.end(), more.chip,
                       [](const Fleet::CutChip& known, std::uint32_t chip) { return known.chip < chip; });
  if (place == chips.end() || place->chip != more.chip) place = chips.insert(place, {more.chip, 0, 0});
  place->present += more.present;
  place->healthy += more.healthy;
}

template <class A, class B>
bool kind_less(const A& a, const B& b) {
  return std::tie(a.memory, a.chip, a.ai_cores) < std::tie(b.memory, b.chip, b.ai_cores);
}

}  // namespace

FleetChange Fleet::report(const NodeReported& reported) {
  std::optional<NodeIndex> known = find_node(reported.node);
  if (!known) {
    restore_node(reported.node);
    known = NodeIndex(static_cast<std::uint32_t>(nodes_.size() - 1));
  }
  const NodeIndex node = *known;
  bool changed = false;
  for (const NpuIndex index : nodes_[node.value].npus) {
    NpuReport& report = npus_[index.value].report;
    const bool named =
        std::any_of(reported.npus.begin(), reported.npus.end(),
                    [&report](const NpuReport& other) { return other.physical_id == report.physical_id; });
    if (named || !is_present(report)) continue;
    report.health = Health::kAbsent;
    changed = true;
  }
  for (const NpuReport& report : reported.npus) {
    const std::optional<NpuIndex> index = find_npu(node, report.physical_id);
    if (!index) {
      add_npu(node, report);
      changed = true;
    } else if (npus_[index->value].report != report) {
      npus_[index->value].report = report;
      changed = true;
    }
  }
  if (!changed) return FleetChange::kNothing;

  std::vector<std::int32_t> before(kinds_.size());
  std::vector<std::vector<CutChip>> chips_before(kinds_.size());
  for (std::uint32_t i = 0; i < kind_count(); ++i) {
    before[i] = kinds_[i].present_on_node_max;
    chips_before[i] = kinds_[i].chips;
  }
  const bool has_new_kind = std::any_of(
      reported.npus.begin(), reported.npus.end(),
      [this](const NpuReport& report) { return is_present(report) && find_kind(report) == kNoKind; });
  if (has_new_kind || nodes_.size() > words_ * kBitsPerWord) {
    rebuild();
    return FleetChange::kKinds;
  }
  drop_parts(node);
  build_parts(node);
  sum_kinds();
  for (std::uint32_t i = 0; i < kind_count(); ++i) {
    const bool same_chips = std::equal(kinds_[i].chips.begin(), kinds_[i].chips.end(),
                                       chips_before[i].begin(), chips_before[i].end(),
                                       [](const CutChip& a, const CutChip& b) { return a.chip == b.chip; });
    if (kinds_[i].present_on_node_max == before[i] && same_chips) continue;
    ++epoch_;
    return FleetChange::kKinds;
  }
  return FleetChange::kCounts;
}

std::uint32_t Fleet::first_kind_with(Bytes memory) const {
  const auto place = std::lower_bound(kinds_.begin(), kinds_.end(), memory,
                                      [](const Kind& kind, Bytes need) { return kind.memory < need; });
  return static_cast<std::uint32_t>(place - kinds_.begin());
}

std::optional<Place> Fleet::choose(std::int32_t npus, std::uint32_t first_kind,
                                   const PlacementFilter& filter) const {
  TG_ASSERT(npus > 0, "a placement is of at least one NPU");
  std::uint32_t kind = first_kind;
  while (kind < kind_count()) {
    const Bytes memory = kinds_[kind].memory;
    std::tuple<std::int32_t, std::uint32_t, std::uint32_t> best{std::numeric_limits<std::int32_t>::max(), 0,
                                                                kNoKind};
    for (; kind < kind_count() && kinds_[kind].memory == memory; ++kind) {
      if (!filter.allows(kind)) continue;
      for (const std::uint32_t index : kinds_[kind].pools) {
        const Pool& pool = pools_[index];
        if (pool.parts == 0 || pool.healthy >= filter.kept(kind)) continue;
        for (std::int32_t free = npus; free <= std::min(pool.healthy, std::get<0>(best)); ++free) {
          if (pool.counts[static_cast<std::size_t>(free)] == 0) continue;
          best = std::min(best, std::tuple(free, first_node(pool, free), kind));
          break;
        }
      }
    }
    if (std::get<2>(best) != kNoKind) return Place{NodeIndex(std::get<1>(best)), std::get<2>(best)};
  }
  return std::nullopt;
}

bool Fleet::fits(std::int32_t npus, std::uint32_t first_kind, const PlacementFilter& filter) const {
  for (std::uint32_t kind = first_kind; kind < kind_count(); ++kind) {
    if (kinds_[kind].free < npus || !filter.allows(kind)) continue;
    for (const std::uint32_t index : kinds_[kind].pools) {
      const Pool& pool = pools_[index];
      if (pool.parts == 0 || pool.healthy >= filter.kept(kind)) continue;
      for (std::int32_t free = pool.healthy; free >= npus; --free) {
        if (pool.counts[static_cast<std::size_t>(free)] > 0) return true;
      }
    }
  }
  return false;
}

bool Fleet::is_kept(std::int32_t npus, std::uint32_t first_kind, const PlacementFilter& filter) const {
  for (std::uint32_t kind = first_kind; kind < kind_count(); ++kind) {
    if (kinds_[kind].healthy_on_node_max >= std::max(npus, filter.kept(kind))) return true;
  }
  return false;
}

bool Fleet::fits_if_healthy(std::int32_t npus, std::uint32_t first_kind) const {
  if (!has_unhealthy(npus, first_kind)) return false;
  for (const Node& node : nodes_) {
    for (const Part& part : node.parts) {
      if (part.kind >= first_kind && part.free + part.unhealthy_unheld >= npus) return true;
    }
  }
  return false;
}

bool Fleet::has_unhealthy(std::int32_t npus, std::uint32_t first_kind) const {
  for (std::uint32_t kind = first_kind; kind < kind_count(); ++kind) {
    if (kinds_[kind].present > kinds_[kind].healthy && kinds_[kind].present_on_node_max >= npus) return true;
  }
  return false;
}

bool Fleet::exists(std::int32_t npus, std::uint32_t first_kind) const {
  for (std::uint32_t kind = first_kind; kind < kind_count(); ++kind) {
    if (kinds_[kind].present_on_node_max >= npus) return true;
  }
  return false;
}

bool Fleet::exists_healthy(std::int32_t npus, std::uint32_t first_kind) const {
  for (std::uint32_t kind = first_kind; kind < kind_count(); ++kind) {
    if (kinds_[kind].healthy_on_node_max >= npus) return true;
  }
  return false;
}

std::vector<NpuIndex> Fleet::pick(Place place, std::int32_t npus) const {
  std::vector<NpuIndex> picked;
  picked.reserve(static_cast<std::size_t>(npus));
  for (const NpuIndex index : nodes_[place.node.value].npus) {
    const Npu& npu = npus_[index.value];
    if (npu.kind != place.kind || !is_healthy(npu.report) || !npu.is_idle()) continue;
    picked.push_back(index);
    if (picked.size() == static_cast<std::size_t>(npus)) break;
  }
  TG_ASSERT(picked.size() == static_cast<std::size_t>(npus), "the chosen part has enough free NPUs");
  std::sort(picked.begin(), picked.end());
  return picked;
}

void Fleet::take(JobId job, const std::vector<NpuIndex>& npus, bool require_free) {
  TG_ASSERT(job.valid() && !npus.empty(), "a job takes at least one NPU");
  for (std::size_t i = 0; i < npus.size(); ++i) {
    TG_ASSERT(npus[i].value < npus_.size(), "the NPU is known");
    Npu& npu = npus_[npus[i].value];
    TG_ASSERT(!npu.is_held(), "an NPU is never given twice");
    TG_ASSERT(!require_free || (is_healthy(npu.report) && npu.is_idle()), "only healthy NPUs are given");
    Part* part = npu.kind == kNoKind ? nullptr : &part_of(npu);
    if (part != nullptr) tally(npus[i], *part, -1);
    npu.job = job;
    npu.next = i + 1 < npus.size() ? npus[i + 1] : NpuIndex();
    if (part != nullptr) tally(npus[i], *part, +1);
  }
}

void Fleet::release(JobId job, NpuIndex first) {
  TG_ASSERT(first.valid(), "a job that runs holds an NPU");
  if (!npus_[first.value].slices.empty()) {
    release_slice(job, first);
    return;
  }
  for (NpuIndex at = first; at.valid();) {
    const NpuIndex index = at;
    Npu& npu = npus_[index.value];
    TG_ASSERT(npu.job == job, "a job frees only its own NPUs");
    at = npu.next;
    Part* part = npu.kind == kNoKind ? nullptr : &part_of(npu);
    if (part != nullptr) tally(index, *part, -1);
    npu.job = JobId();
    npu.next = NpuIndex();
    if (part != nullptr) tally(index, *part, +1);
  }
}

std::vector<NpuIndex> Fleet::held_from(NpuIndex first) const {
  std::vector<NpuIndex> held;
  for (NpuIndex at = first; at.valid(); at = npus_[at.value].next) held.push_back(at);
  return held;
}

std::optional<NodeIndex> Fleet::find_node(std::string_view name) const {
  const auto place = std::lower_bound(
      nodes_by_name_.begin(), nodes_by_name_.end(), name,
      [this](std::uint32_t node, std::string_view wanted) { return nodes_[node].name < wanted; });
  if (place == nodes_by_name_.end() || nodes_[*place].name != name) return std::nullopt;
  return NodeIndex(*place);
}

std::optional<NpuIndex> Fleet::find_npu(NodeIndex node, std::uint32_t physical_id) const {
  const std::vector<NpuIndex>& npus = nodes_[node.value].npus;
  const auto place = std::lower_bound(
      npus.begin(), npus.end(), physical_id,
      [this](NpuIndex index, std::uint32_t id) { return npus_[index.value].report.physical_id < id; });
  if (place == npus.end() || npus_[place->value].report.physical_id != physical_id) return std::nullopt;
  return *place;
}

void Fleet::restore_node(std::string name) {
  const auto place = std::lower_bound(
      nodes_by_name_.begin(), nodes_by_name_.end(), name,
      [this](std::uint32_t node, const std::string& wanted) { return nodes_[node].name < wanted; });
  TG_ASSERT(place == nodes_by_name_.end() || nodes_[*place].name != name, "a node's name is used once");
  nodes_by_name_.insert(place, static_cast<std::uint32_t>(nodes_.size()));
  nodes_.emplace_back();
  nodes_.back().name = std::move(name);
}

void Fleet::restore_npu(NodeIndex node, const NpuReport& report) {
  add_npu(node, report);
}

NpuIndex Fleet::add_npu(NodeIndex node, const NpuReport& report) {
  TG_ASSERT(node.value < nodes_.size(), "the node is known");
  const NpuIndex index(static_cast<std::uint32_t>(npus_.size()));
  npus_.emplace_back();
  npus_.back().node = node;
  npus_.back().report = report;
  std::vector<NpuIndex>& list = nodes_[node.value].npus;
  const auto place = std::lower_bound(
      list.begin(), list.end(), report.physical_id,
      [this](NpuIndex i, std::uint32_t id) { return npus_[i.value].report.physical_id < id; });
  TG_ASSERT(place == list.end() || npus_[place->value].report.physical_id != report.physical_id,
            "a physical id is used once on a node");
  list.insert(place, index);
  return index;
}

std::uint32_t Fleet::find_kind(const NpuReport& report) const {
  const auto place =
      std::lower_bound(kinds_.begin(), kinds_.end(), report,
                       [](const Kind& kind, const NpuReport& wanted) { return kind_less(kind, wanted); });
  if (place == kinds_.end() || kind_less(report, *place)) return kNoKind;
  return static_cast<std::uint32_t>(place - kinds_.begin());
}

void Fleet::rebuild() {
  ++epoch_;
  words_ = std::max(words_, std::bit_ceil((nodes_.size() + kBitsPerWord - 1) / kBitsPerWord));
  pools_.clear();
  for (Node& node : nodes_) node.parts.clear();
  collect_kinds();
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) build_parts(NodeIndex(node));
  sum_kinds();
}

void Fleet::collect_kinds() {
  std::vector<const NpuReport*> present;
  for (const Npu& npu : npus_) {
    if (is_present(npu.report)) present.push_back(&npu.report);
  }
  std::sort(present.begin(), present.end(),
            [](const NpuReport* a, const NpuReport* b) { return kind_less(*a, *b); });
  kinds_.clear();
  for (const NpuReport* report : present) {
    if (!kinds_.empty() && !kind_less(kinds_.back(), *report)) continue;
    kinds_.emplace_back();
    kinds_.back().chip = report->chip;
    kinds_.back().memory = report->memory;
    kinds_.back().ai_cores = report->ai_cores;
  }
}

void Fleet::build_parts(NodeIndex node) {
  std::vector<Part>& parts = nodes_[node.value].parts;
  TG_ASSERT(parts.empty(), "parts are built anew");
  ++nodes_[node.value].version;
  for (const NpuIndex index : nodes_[node.value].npus) {
    Npu& npu = npus_[index.value];
    npu.kind = is_present(npu.report) ? find_kind(npu.report) : kNoKind;
    npu.chip = npu.kind == kNoKind ? kNoChip : rules_.chip_of(npu.report);
    npu.state = kNoState;
    npu.indexed = false;
    if (npu.kind == kNoKind) continue;
    auto place = std::lower_bound(parts.begin(), parts.end(), npu.kind,
                                  [](const Part& part, std::uint32_t kind) { return part.kind < kind; });
    if (place == parts.end() || place->kind != npu.kind) {
      place = parts.insert(place, Part{});
      place->kind = npu.kind;
    }
    ++place->present;
    if (is_healthy(npu.report)) ++place->healthy;
    classify(npu, *place, +1);
    if (npu.chip == kNoChip) continue;
    rules_.prepare(npu.chip);
    restate(npu);
    add_chip(place->chips, {npu.chip, 1, is_healthy(npu.report) ? 1 : 0});
  }
  for (Part& part : parts) {
    part.pool = pool_for(part.kind, part.healthy);
    ++pools_[part.pool].parts;
    put_in_pool(node, part);
  }
  for (const NpuIndex index : nodes_[node.value].npus) {
    const Npu& npu = npus_[index.value];
    if (npu.chip != kNoChip) index_cuts(index, pools_[part_of(npu).pool]);
  }
}

void Fleet::drop_parts(NodeIndex node) {
  for (const NpuIndex index : nodes_[node.value].npus) {
    const Npu& npu = npus_[index.value];
    if (npu.indexed) unindex_cuts(index, pools_[part_of(npu).pool]);
  }
  for (const Part& part : nodes_[node.value].parts) {
    remove_from_pool(node, part);
    --pools_[part.pool].parts;
  }
  nodes_[node.value].parts.clear();
}

void Fleet::sum_kinds() {
  present_ = 0;
  for (Kind& kind : kinds_) {
    kind.present_on_node_max = kind.healthy_on_node_max = 0;
    kind.present = kind.healthy = kind.free = kind.cut = kind.with_residual = 0;
    kind.chips.clear();
  }
  for (const Node& node : nodes_) {
    for (const Part& part : node.parts) {
      Kind& kind = kinds_[part.kind];
      kind.present_on_node_max = std::max(kind.present_on_node_max, part.present);
      kind.healthy_on_node_max = std::max(kind.healthy_on_node_max, part.healthy);
      kind.present += part.present;
      kind.healthy += part.healthy;
      kind.free += part.free;
      kind.cut += part.cut;
      kind.with_residual += part.with_residual;
      for (const CutChip& chip : part.chips) add_chip(kind.chips, chip);
      present_ += part.present;
    }
  }
}

std::uint32_t Fleet::pool_for(std::uint32_t kind, std::int32_t healthy) {
  for (const std::uint32_t index : kinds_[kind].pools) {
    if (pools_[index].healthy == healthy) return index;
  }
  const auto index = static_cast<std::uint32_t>(pools_.size());
  Pool pool;
  pool.kind = kind;
  pool.healthy = healthy;
  pool.counts.resize(static_cast<std::size_t>(healthy) + 1);
  pool.nodes.resize((static_cast<std::size_t>(healthy) + 1) * words_);
  pools_.push_back(std::move(pool));
  kinds_[kind].pools.push_back(index);
  return index;
}

void Fleet::classify(const Npu& npu, Part& part, std::int32_t sign) {
  if (!is_healthy(npu.report)) {
    if (npu.is_idle()) part.unhealthy_unheld += sign;
    return;
  }
  if (npu.job.valid()) return;
  if (npu.is_idle()) {
    part.free += sign;
    return;
  }
  part.cut += sign;
  const auto is_residual = [](const StraySlice& stray) { return stray.residual; };
  const std::vector<StraySlice>& strays = npu.report.strays;
  if (std::any_of(strays.begin(), strays.end(), is_residual)) part.with_residual += sign;
  if (npu.slices.empty() && std::all_of(strays.begin(), strays.end(), is_residual)) part.all_residual += sign;
}

void Fleet::tally(NpuIndex index, Part& part, std::int32_t sign) {
  const Npu& npu = npus_[index.value];
  if (npu.indexed) unindex_cuts(index, pools_[part.pool]);
  Kind& kind = kinds_[part.kind];
  const std::int32_t free_before = part.free;
  kind.cut -= part.cut;
  kind.with_residual -= part.with_residual;
  classify(npu, part, sign);
  kind.cut += part.cut;
  kind.with_residual += part.with_residual;
  if (part.free != free_before) {
    TG_ASSERT(part.free >= 0 && part.free <= part.healthy, "free NPUs are healthy ones");
    const std::int32_t free_now = std::exchange(part.free, free_before);
    remove_from_pool(npu.node, part);
    part.free = free_now;
    put_in_pool(npu.node, part);
    kind.free += free_now - free_before;
  }
  if (sign < 0) return;
  ++nodes_[npu.node.value].version;
  if (npu.chip != kNoChip) index_cuts(index, pools_[part.pool]);
}

void Fleet::put_in_pool(NodeIndex node, const Part& part) {
  Pool& pool = pools_[part.pool];
  const auto free = static_cast<std::size_t>(part.free);
  ++pool.counts[free];
  pool.nodes[free * words_ + node.value / kBitsPerWord] |= std::uint64_t{1} << (node.value % kBitsPerWord);
}

void Fleet::remove_from_pool(NodeIndex node, const Part& part) {
  Pool& pool = pools_[part.pool];
  const auto free = static_cast<std::size_t>(part.free);
  TG_ASSERT(pool.counts[free] > 0, "the part is in its bucket");
  --pool.counts[free];
  pool.nodes[free * words_ + node.value / kBitsPerWord] &= ~(std::uint64_t{1} << (node.value % kBitsPerWord));
}

Fleet::Part& Fleet::part_of(const Npu& npu) {
  for (Part& part : nodes_[npu.node.value].parts) {
    if (part.kind == npu.kind) return part;
  }
  TG_ASSERT(false, "a present NPU belongs to a part");
  return nodes_[npu.node.value].parts.front();
}

std::uint32_t Fleet::first_node(const Pool& pool, std::int32_t free) const {
  const std::size_t begin = static_cast<std::size_t>(free) * words_;
  for (std::size_t word = 0; word < words_; ++word) {
    const std::uint64_t bits = pool.nodes[begin + word];
    if (bits != 0)
      return static_cast<std::uint32_t>(word * kBitsPerWord) +
             static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  TG_ASSERT(false, "a counted bucket holds a node");
  return 0;
}

}  // namespace tangram

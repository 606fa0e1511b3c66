// The oracle's rules about slices. What a chip allows, and in which order its states are cut, are facts here:
// they have tests of their own.
#include <algorithm>
#include <limits>

#include "catalog/catalog.h"
#include "placement/cut_order.h"
#include "scheduler/oracle.h"

namespace tangram::testing {
namespace {

std::uint32_t chip_named(const NpuReport& report) {
  const std::vector<Catalog::Chip>& chips = Catalog::builtin()->chips();
  for (std::uint32_t i = 0; report.cuttable && i < chips.size(); ++i) {
    if (chips[i].model.name == report.template_set) return i;
  }
  return kNoChip;
}

const CutOrder& order_of(std::uint32_t chip, bool variants) {
  static std::map<std::pair<std::uint32_t, bool>, CutOrder> orders;
  const auto known = orders.find({chip, variants});
  if (known != orders.end()) return known->second;
  const Catalog::Chip& model = Catalog::builtin()->chip(chip);
  return orders.emplace(std::pair(chip, variants), CutOrder(model.model, model.table, variants))
      .first->second;
}

// Which slices stand on an NPU, and what is in each of its vGroups.
struct Mix {
  bool known = true;
  SliceMix mix;
  std::map<std::int32_t, std::vector<std::uint32_t>> vgroups;
};

Mix mix_of(const Oracle::Npu& npu, bool without_residual = false) {
  const ChipModel& chip = Catalog::builtin()->chip(chip_named(npu.report)).model;
  Mix mix;
  const auto add = [&](const std::string& name, std::int32_t vgroup) {
    const std::uint32_t shape = find_template(chip, name);
    if (shape == chip.templates.size() || (chip.vgroups > 0 && (vgroup < 0 || vgroup >= chip.vgroups))) {
      mix.known = false;
      return;
    }
    ++mix.mix.counts[shape];
    mix.vgroups[vgroup].push_back(shape);
  };
  for (const auto& [job, slice] : npu.slices) add(slice.template_name, slice.vgroup);
  for (const StraySlice& stray : npu.report.strays) {
    if (!without_residual || !stray.residual) add(stray.template_name, stray.vgroup);
  }
  for (const auto& [vgroup, shapes] : mix.vgroups) {
    if (chip.vgroups == 0) break;
    const bool all_single = std::all_of(shapes.begin(), shapes.end(), [&](std::uint32_t shape) {
      return chip.templates[shape].ai_cores() == 1;
    });
    if (shapes.size() > 2 || (shapes.size() == 2 && !all_single)) mix.known = false;
    if (shapes.size() == 1 && all_single) ++mix.mix.half_vgroups;
  }
  return mix;
}

std::int32_t vgroup_for(const ChipModel& chip, const Mix& mix, std::uint32_t shape) {
  if (chip.vgroups == 0) return kNoVgroup;
  const bool is_single = chip.templates[shape].ai_cores() == 1;
  for (std::int32_t i = 0; is_single && i < chip.vgroups; ++i) {
    const auto there = mix.vgroups.find(i);
    if (there != mix.vgroups.end() && there->second.size() == 1 &&
        chip.templates[there->second.front()].ai_cores() == 1) {
      return i;
    }
  }
  std::int32_t i = 0;
  while (mix.vgroups.contains(i)) ++i;
  return i;
}

}  // namespace

bool Oracle::is_legal_mix(const Npu& npu) const {
  if (chip_named(npu.report) == kNoChip) return true;
  const Mix mix = mix_of(npu);
  return mix.known && is_legal(Catalog::builtin()->chip(chip_named(npu.report)).model, mix.mix);
}

std::vector<Oracle::Option> Oracle::options(const Job& job, bool healthy_only) const {
  std::vector<Option> options;
  for (const Npu& npu : npus) {
    if (npu.report.health == Health::kAbsent || (healthy_only && npu.report.health != Health::kOk)) continue;
    const std::uint32_t chip = chip_named(npu.report);
    const Request& request = job.spec.request;
    if (chip == kNoChip || request.memory_per_npu > npu.report.memory ||
        request.ai_cores > npu.report.ai_cores)
      continue;
    Option option{npu.report.memory.count, npu.report.ai_cores, kind_of(npu.report), kNoChip, true};
    for (const SliceTemplate& shape : Catalog::builtin()->chip(chip).model.templates) {
      const auto cores = static_cast<std::int32_t>(shape.ai_cores());
      if (!shape.offered || shape.memory < request.memory_per_npu || cores < request.ai_cores) continue;
      const bool smaller =
          option.whole || std::pair(shape.memory.count, cores) < std::pair(option.memory, option.cores);
      if (smaller) option = {shape.memory.count, cores, kind_of(npu.report), chip, false};
    }
    options.push_back(option);
  }
  const auto key = [](const Option& o) { return std::tuple(o.memory, o.cores, o.kind, o.chip); };
  std::sort(options.begin(), options.end(),
            [&](const Option& a, const Option& b) { return key(a) < key(b); });
  options.erase(std::unique(options.begin(), options.end(),
                            [&](const Option& a, const Option& b) { return key(a) == key(b); }),
                options.end());
  return options;
}

std::array<std::int64_t, 5> Oracle::charge_for(const Job& job, const Option& option) const {
  if (option.whole) return charge_for(job, option.kind);
  return {slice_count == SliceCount::kOne ? 1 : 0, option.memory, option.cores, 1, job.spec.bandwidth_bps};
}

std::array<std::int64_t, 5> Oracle::charge_of(const Job& job, const SlicePlacement& slice) const {
  return {slice_count == SliceCount::kOne ? 1 : 0, slice.memory.count, slice.ai_cores, 1,
          job.spec.bandwidth_bps};
}

bool Oracle::is_kept(const Npu& npu, const Keeping& keeping) const {
  std::int32_t healthy = 0;
  for (const Npu& other : npus) {
    const bool same_part = other.node == npu.node && kind_of(other.report) == kind_of(npu.report);
    if (same_part && other.report.health == Health::kOk) ++healthy;
  }
  return std::any_of(keeping.of.begin(), keeping.of.end(), [&](const auto& kept) {
    return std::get<0>(kept) == kind_of(npu.report) && healthy >= std::get<1>(kept);
  });
}

std::optional<Oracle::Cut> Oracle::place_in(const Option& option, const Keeping& keeping) const {
  // Of NPUs that are free, those of the node with the fewest come first, then as nodes and NPUs are numbered.
  std::map<std::size_t, std::int32_t> free_on;
  for (const Npu& npu : npus) {
    if (npu.report.health == Health::kOk && npu.is_free() && kind_of(npu.report) == option.kind)
      ++free_on[npu.node_order];
  }
  std::optional<std::tuple<std::int32_t, std::size_t>> packed;
  std::optional<std::tuple<std::uint32_t, bool, std::uint32_t>> best;  // rank, elsewhere, order
  std::optional<NpuIndex> chosen;
  for (const Npu& npu : npus) {
    if (npu.report.health != Health::kOk || !npu.is_free() || kind_of(npu.report) != option.kind) continue;
    if (is_kept(npu, keeping)) continue;
    const std::tuple<std::int32_t, std::size_t> node(free_on[npu.node_order], npu.node_order);
    if (!packed || node < *packed) packed = node;
  }
  for (std::uint32_t i = 0; i < npus.size(); ++i) {
    const Npu& npu = npus[i];
    if (npu.report.health != Health::kOk || npu.job || kind_of(npu.report) != option.kind) continue;
    if (is_kept(npu, keeping)) continue;
    std::uint32_t rank = 0;
    if (option.whole) {
      if (!npu.is_free()) continue;
    } else {
      if (chip_named(npu.report) != option.chip) continue;
      const Mix mix = mix_of(npu);
      const std::optional<SliceState> state = Catalog::builtin()->chip(option.chip).table.find(mix.mix);
      if (!mix.known || !state) continue;
      const CutOrder& order = order_of(option.chip, variants);
      std::uint32_t size = 0;
      while (order.sizes()[size].memory.count != option.memory ||
             order.sizes()[size].ai_cores != option.cores)
        ++size;
      rank = order.rank(size, *state);
      if (rank == CutOrder::kNoRank) continue;
    }
    const bool elsewhere = npu.is_free() && packed && npu.node_order != std::get<1>(*packed);
    const std::uint32_t tie = npu.is_free() && !elsewhere ? npu.report.physical_id : i;
    const std::tuple<std::uint32_t, bool, std::uint32_t> key(rank, elsewhere, tie);
    if (best && *best <= key) continue;
    best = key;
    chosen = NpuIndex(i);
  }
  if (!chosen) return std::nullopt;
  if (option.whole) return Cut{*chosen, std::nullopt};
  const Catalog::Chip& chip = Catalog::builtin()->chip(option.chip);
  const CutOrder& order = order_of(option.chip, variants);
  const Mix mix = mix_of(npus[chosen->value]);
  std::uint32_t size = 0;
  while (order.sizes()[size].memory.count != option.memory || order.sizes()[size].ai_cores != option.cores)
    ++size;
  const std::uint32_t shape = order.cuts(size)[std::get<0>(*best)].shape;
  const SliceTemplate& given = chip.model.templates[shape];
  return Cut{*chosen, SlicePlacement{given.name, vgroup_for(chip.model, mix, shape), given.memory,
                                     given.usable_memory, static_cast<std::int32_t>(given.ai_cores())}};
}

std::optional<Oracle::Cut> Oracle::place(const std::vector<Option>& options, const Keeping& keeping) const {
  for (const Option& option : options) {
    if (std::optional<Cut> cut = place_in(option, keeping)) return cut;
  }
  return std::nullopt;
}

bool Oracle::fits_without_residual(const Job& job) const {
  Oracle cleaned = *this;
  for (Npu& npu : cleaned.npus) {
    std::erase_if(npu.report.strays, [](const StraySlice& stray) { return stray.residual; });
  }
  if (job.spec.request.kind == RequestKind::kSlice)
    return cleaned.place(cleaned.options(job, false), {}).has_value();
  return cleaned.place(job, cleaned.kinds_for(job, false), {}).has_value();
}

Oracle::Verdict Oracle::judge_slice(const Job& job, std::int64_t now, Keeping& keeping,
                                    bool& ambiguous) const {
  const std::vector<Option> all = options(job, false);
  std::array<std::int64_t, 5> least =
      charge_of(job, {"", kNoVgroup, job.spec.request.memory_per_npu, {}, job.spec.request.ai_cores});
  for (std::size_t i = 0; i < least.size() && !all.empty(); ++i) {
    least[i] = std::numeric_limits<std::int64_t>::max();
    for (const Option& option : all) least[i] = std::min(least[i], charge_for(job, option)[i]);
  }
  if (const std::optional<Verdict> limited =
          judge_limits(job, least, !all.empty(), exists_healthy(job, all), now, keeping, ambiguous)) {
    return *limited;
  }
  std::vector<Option> allowed;
  for (const Option& option : all) {
    if (within_quota(job, charge_for(job, option))) allowed.push_back(option);
  }
  if (allowed.empty()) return {Fate::kQuota, {}, {}};
  if (std::optional<Cut> cut = place(allowed, keeping)) return {Fate::kStart, {cut->npu}, cut->slice};
  const bool fits_otherwise = place(allowed, {}).has_value();
  if (is_overdue(job, now)) {
    for (const Option& option : allowed) keeping.of.emplace_back(option.kind, 1);
  }
  return {fits_otherwise ? Fate::kNpusKept : Fate::kBusy, {}, {}};
}

// A whole NPU of the kind will do where no template is large enough, whether that one can be cut or not.
bool Oracle::exists_healthy(const Job& job, const std::vector<Option>& all) const {
  if (!options(job, true).empty()) return true;
  return std::any_of(npus.begin(), npus.end(), [&all](const Npu& npu) {
    return npu.report.health == Health::kOk &&
           std::any_of(all.begin(), all.end(), [&npu](const Option& option) {
             return option.whole && option.kind == kind_of(npu.report);
           });
  });
}

}  // namespace tangram::testing

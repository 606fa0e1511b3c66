#include "placement/cut_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/invariant.h"

namespace tangram {
namespace {

// How full the vGroups of a chip are: a slice of one core takes a half, any other the whole.
class Vgroups {
 public:
  explicit Vgroups(const ChipModel& chip) : chip_(chip) {}

  // False: that cannot be.
  bool add(std::uint32_t shape, std::int32_t vgroup) {
    if (vgroup < 0 || vgroup >= chip_.vgroups) return false;
    std::int32_t& halves = halves_[static_cast<std::size_t>(vgroup)];
    halves += takes(shape);
    return halves <= 2;
  }

  std::uint8_t half_used() const {
    return static_cast<std::uint8_t>(std::count(halves_.begin(), halves_.end(), 1));
  }

  std::int32_t lowest_for(std::uint32_t shape) const {
    if (takes(shape) == 1) {
      if (const std::int32_t shared = lowest_with(1); shared != kNoVgroup) return shared;
    }
    return lowest_with(0);
  }

 private:
  std::int32_t takes(std::uint32_t shape) const { return shares_vgroup(chip_, shape) ? 1 : 2; }

  std::int32_t lowest_with(std::int32_t halves) const {
    for (std::int32_t i = 0; i < chip_.vgroups; ++i) {
      if (halves_[static_cast<std::size_t>(i)] == halves) return i;
    }
    return kNoVgroup;
  }

  const ChipModel& chip_;
  std::array<std::int32_t, kSlicesPerChipMax> halves_{};
};

}  // namespace

CutRules::CutRules(std::shared_ptr<const Catalog> catalog)
    : catalog_(std::move(catalog)), orders_(catalog_->chips().size()) {}

void CutRules::set_variants(bool variants) {
  if (variants == variants_) return;
  variants_ = variants;
  for (std::uint32_t chip = 0; chip < orders_.size(); ++chip) {
    if (std::exchange(orders_[chip], nullptr) != nullptr) prepare(chip);
  }
}

std::uint32_t CutRules::chip_of(const NpuReport& report) const {
  if (!report.cuttable) return kNoChip;
  for (std::uint32_t i = 0; i < catalog_->chips().size(); ++i) {
    if (model(i).name == report.template_set) return i;
  }
  return kNoChip;
}

void CutRules::prepare(std::uint32_t chip) {
  if (orders_[chip] != nullptr) return;
  const Catalog::Chip& known = catalog_->chip(chip);
  orders_[chip] = std::make_shared<const CutOrder>(known.model, known.table, variants_);
}

SliceState CutRules::state_of(std::uint32_t chip, const std::vector<StandingSlice>& slices) const {
  if (slices.empty()) return kUncut;
  if (slices.size() > static_cast<std::size_t>(kSlicesPerChipMax)) return kNoState;
  SliceMix mix;
  Vgroups vgroups(model(chip));
  for (const StandingSlice& slice : slices) {
    const std::uint32_t shape = find_template(model(chip), slice.template_name);
    if (shape == model(chip).templates.size()) return kNoState;
    if (model(chip).vgroups > 0 && !vgroups.add(shape, slice.vgroup)) return kNoState;
    ++mix.counts[shape];
  }
  mix.half_vgroups = vgroups.half_used();
  return catalog_->chip(chip).table.find(mix).value_or(kNoState);
}

std::int32_t CutRules::vgroup_for(std::uint32_t chip, const std::vector<StandingSlice>& slices,
                                  std::uint32_t shape) const {
  if (model(chip).vgroups == 0) return kNoVgroup;
  Vgroups vgroups(model(chip));
  for (const StandingSlice& slice : slices) {
    const bool fits = vgroups.add(find_template(model(chip), slice.template_name), slice.vgroup);
    TG_ASSERT(fits, "what stands on the NPU is legal");
  }
  const std::int32_t vgroup = vgroups.lowest_for(shape);
  TG_ASSERT(vgroup != kNoVgroup, "a legal cut has a vGroup");
  return vgroup;
}

SlicePlacement CutRules::cut_of(std::uint32_t chip, const std::vector<StandingSlice>& slices,
                                std::uint32_t shape) const {
  const SliceTemplate& cut = model(chip).templates[shape];
  SlicePlacement slice;
  slice.template_name = cut.name;
  slice.vgroup = vgroup_for(chip, slices, shape);
  slice.memory = cut.memory;
  slice.usable_memory = cut.usable_memory;
  slice.ai_cores = static_cast<std::int32_t>(cut.ai_cores());
  return slice;
}

}  // namespace tangram

#include "service/npu_cuts.h"

#include <algorithm>
#include <set>

namespace tangram::service {
namespace {

std::int32_t vgroup_of(const DeviceSlice& slice) {
  return slice.vgroup_id.valid ? static_cast<std::int32_t>(slice.vgroup_id.value) : kNoVgroup;
}

// The slices of a look that nobody has claimed yet.
class Unclaimed {
 public:
  explicit Unclaimed(const DeviceNpu* reading) {
    if (reading == nullptr || !reading->slicing.slices.valid) return;
    for (const DeviceSlice& slice : reading->slicing.slices.value) left_.push_back(&slice);
  }

  template <class Is>
  const DeviceSlice* take(Is is) {
    const auto found = std::find_if(left_.begin(), left_.end(), [&](const DeviceSlice* s) { return is(*s); });
    if (found == left_.end()) return nullptr;
    const DeviceSlice* slice = *found;
    left_.erase(found);
    return slice;
  }

  const std::vector<const DeviceSlice*>& rest() const { return left_; }

 private:
  std::vector<const DeviceSlice*> left_;
};

void fill_from_look(CutSlice& slice) {
  if (slice.seen == nullptr) return;
  if (slice.template_name.empty() && slice.seen->template_name.valid)
    slice.template_name = slice.seen->template_name.value;
  if (slice.vgroup == kNoVgroup) slice.vgroup = vgroup_of(*slice.seen);
}

bool shows(const DeviceNpu* reading, std::uint32_t id) {
  if (reading == nullptr || !reading->slicing.slices.valid) return false;
  return std::ranges::any_of(reading->slicing.slices.value,
                             [id](const DeviceSlice& slice) { return slice.id == id; });
}

// A report keeps an NPU that has refused a cut from being given, under an id that stands for no slice.
bool is_trace_of_refusal(const StraySlice& stray, const DeviceNpu* reading) {
  return stray.residual && stray.template_name.empty() && !shows(reading, stray.id);
}

std::vector<CutSlice> slices_on(const OwnSlices& own, const NpuView& npu, const DeviceNpu* reading) {
  Unclaimed unclaimed(reading);
  std::vector<CutSlice> strays;
  for (const StraySlice& stray : npu.report.strays) {
    if (is_trace_of_refusal(stray, reading)) continue;
    CutSlice& slice = strays.emplace_back();
    slice.standing =
        own.ended.contains(stray.id) ? wire::SliceStanding::kResidual : wire::SliceStanding::kForeign;
    slice.id = stray.id;
    slice.template_name = stray.template_name;
    slice.vgroup = stray.vgroup;
    slice.seen = unclaimed.take([&stray](const DeviceSlice& seen) { return seen.id == stray.id; });
    fill_from_look(slice);
  }
  std::stable_sort(strays.begin(), strays.end(),
                   [](const CutSlice& a, const CutSlice& b) { return a.standing < b.standing; });

  std::vector<CutSlice> slices;
  for (const NpuView::Slice& held : npu.slices) {
    CutSlice& slice = slices.emplace_back();
    slice.standing = wire::SliceStanding::kHeld;
    slice.template_name = held.placement.template_name;
    slice.vgroup = held.placement.vgroup;
    slice.held = &held;
    if (const auto id = own.held.find(held.job); id != own.held.end()) slice.id = id->second;
    slice.seen = unclaimed.take([&slice](const DeviceSlice& seen) { return seen.id == slice.id; });
    fill_from_look(slice);
  }
  slices.insert(slices.end(), strays.begin(), strays.end());
  for (const DeviceSlice* seen : unclaimed.rest()) {
    CutSlice& slice = slices.emplace_back();
    slice.seen = seen;
    slice.id = seen->id;
    fill_from_look(slice);
  }
  return slices;
}

std::uint32_t chip_of(const Catalog& catalog, const NpuReport& report, const DeviceNpu* reading) {
  for (std::uint32_t i = 0; i < catalog.chips().size(); ++i) {
    if (!report.template_set.empty() && catalog.chip(i).model.name == report.template_set) return i;
  }
  ChipIdentity npu{report.chip, std::nullopt, report.ai_cores, report.memory};
  if (reading != nullptr && reading->board_id.valid) npu.board = reading->board_id.value;
  if (reading != nullptr) npu.chips_on_card = reading->chips_on_card;
  return catalog.find(npu);
}

SliceMix known_part(const ChipModel& chip, const std::vector<CutSlice>& slices) {
  std::array<std::uint8_t, kTemplatesMax> counts{};
  for (const CutSlice& slice : slices) {
    const std::uint32_t shape = find_template(chip, slice.template_name);
    if (shape < chip.templates.size()) ++counts[shape];
  }
  return tightest(chip, counts);
}

}  // namespace

OwnSlices own_slices(const State& state) {
  OwnSlices own;
  for (const auto& [id, entry] : state.slices()) {
    if (entry.ended) {
      own.ended.insert(id);
    } else {
      own.held.emplace(entry.job, id);
    }
  }
  return own;
}

NpuCuts look_at_cuts(const OwnSlices& own, const CutRules& rules, const NpuView& npu,
                     const DeviceNpu* reading) {
  NpuCuts cuts;
  cuts.slices = slices_on(own, npu, reading);
  cuts.resting = std::ranges::any_of(
      npu.report.strays, [reading](const StraySlice& stray) { return is_trace_of_refusal(stray, reading); });
  const Catalog& catalog = *rules.catalog();
  cuts.chip = chip_of(catalog, npu.report, reading);
  if (cuts.chip == kNoChip) return cuts;
  std::vector<StandingSlice> standing;
  standing.reserve(cuts.slices.size());
  for (const CutSlice& slice : cuts.slices) standing.push_back({slice.template_name, slice.vgroup});
  cuts.state = rules.state_of(cuts.chip, standing);
  const Catalog::Chip& chip = catalog.chip(cuts.chip);
  cuts.mix = cuts.state == kNoState ? known_part(chip.model, cuts.slices) : chip.table.mix(cuts.state);
  return cuts;
}

bool is_unseen(const CutSlice& slice, const DeviceNpu* reading) {
  return slice.standing == wire::SliceStanding::kResidual && slice.seen == nullptr && reading != nullptr &&
         reading->slicing.slices.valid;
}

const DeviceNpu* find_reading(const DeviceReadings& readings, std::uint32_t physical_id) {
  const auto found = std::find_if(readings.npus.begin(), readings.npus.end(),
                                  [=](const DeviceNpu& npu) { return npu.physical_id == physical_id; });
  return found == readings.npus.end() ? nullptr : &*found;
}

}  // namespace tangram::service

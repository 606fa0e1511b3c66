#include "catalog/slice_table.h"

#include <algorithm>
#include <map>

#include "base/quote.h"

namespace tangram {
namespace {

// The states next to `mix`, in a fixed order. Those with less are legal whenever it is, but need not be
// reachable by cuts alone: single cores that lost their partners.
std::vector<SliceMix> neighbours(const ChipModel& chip, const SliceMix& mix) {
  std::vector<SliceMix> found;
  std::int32_t singles = 0;
  for (std::uint32_t shape = 0; shape < chip.templates.size(); ++shape) {
    found.push_back(with_slice(chip, mix, shape));
    if (shares_vgroup(chip, shape)) singles += mix.counts[shape];
  }
  for (std::uint32_t shape = 0; shape < chip.templates.size(); ++shape) {
    if (mix.counts[shape] == 0) continue;
    if (!shares_vgroup(chip, shape) || mix.half_vgroups > 0)
      found.push_back(without_slice(chip, mix, shape, false));
    if (shares_vgroup(chip, shape) && singles > mix.half_vgroups)
      found.push_back(without_slice(chip, mix, shape, true));
  }
  return found;
}

}  // namespace

Result<SliceTable> SliceTable::build(const ChipModel& chip) {
  SliceTable table;
  table.templates_ = static_cast<std::uint32_t>(chip.templates.size());
  std::map<SliceMix, SliceState> known{{SliceMix{}, kUncut}};
  table.mixes_.emplace_back();
  for (std::size_t next = 0; next < table.mixes_.size(); ++next) {
    for (const SliceMix& mix : neighbours(chip, table.mixes_[next])) {
      if (!is_legal(chip, mix)) continue;
      if (!known.emplace(mix, static_cast<SliceState>(table.mixes_.size())).second) continue;
      if (table.mixes_.size() == kSliceStatesMax) {
        return fail(Code::kResourceExhausted, "chip.too_many_states",
                    "chip " + quoted(chip.name) + " can be cut in more than " +
                        std::to_string(kSliceStatesMax) + " ways",
                    "list fewer or larger templates",
                    {{"limit", static_cast<std::int64_t>(kSliceStatesMax)}});
      }
      table.mixes_.push_back(mix);
    }
  }
  for (const auto& [mix, state] : known) table.by_mix_.push_back(state);
  table.link(chip);
  return table;
}

void SliceTable::link(const ChipModel& chip) {
  const std::size_t entries = mixes_.size() * templates_;
  cut_.assign(entries, kNoState);
  heal_.assign(entries, kNoState);
  heal_shared_.assign(entries, kNoState);
  room_.assign(entries, 0);
  for (SliceState state = 0; state < mixes_.size(); ++state) {
    const SliceMix& mix = mixes_[state];
    free_ai_cores_.push_back(chip.has[index_of(ChipResource::kAiCores)] -
                             taken(chip, mix, ChipResource::kAiCores));
    std::int32_t singles = 0;
    for (std::uint32_t shape = 0; shape < templates_; ++shape) {
      if (shares_vgroup(chip, shape)) singles += mix.counts[shape];
    }
    for (std::uint32_t shape = 0; shape < templates_; ++shape) {
      cut_[at(state, shape)] = find(with_slice(chip, mix, shape)).value_or(kNoState);
      if (mix.counts[shape] == 0) continue;
      const bool shared = shares_vgroup(chip, shape);
      if (!shared || mix.half_vgroups > 0)
        heal_[at(state, shape)] = find(without_slice(chip, mix, shape, false)).value_or(kNoState);
      if (shared && singles > mix.half_vgroups)
        heal_shared_[at(state, shape)] = find(without_slice(chip, mix, shape, true)).value_or(kNoState);
    }
  }
  for (SliceState state = 0; state < mixes_.size(); ++state) {
    for (std::uint32_t shape = 0; shape < templates_; ++shape) {
      for (SliceState next = cut(state, shape); next != kNoState; next = cut(next, shape))
        ++room_[at(state, shape)];
    }
  }
}

std::optional<SliceState> SliceTable::find(const SliceMix& mix) const {
  const auto place =
      std::lower_bound(by_mix_.begin(), by_mix_.end(), mix,
                       [this](SliceState state, const SliceMix& wanted) { return mixes_[state] < wanted; });
  if (place == by_mix_.end() || mixes_[*place] != mix) return std::nullopt;
  return *place;
}

}  // namespace tangram

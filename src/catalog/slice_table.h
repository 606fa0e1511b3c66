// Every legal state of one chip model: which slices stand on it, what becomes of it when one is cut or healed
// (destroyed), and what still fits. Made once per model, then only looked up; immutable, so thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/result.h"
#include "catalog/chip.h"
#include "catalog/slice_rules.h"

namespace tangram {

using SliceState = std::uint32_t;
inline constexpr SliceState kNoState = std::numeric_limits<SliceState>::max();
inline constexpr SliceState kUncut = 0;  // no slice: also the state of a free NPU
inline constexpr std::size_t kSliceStatesMax = 20'000;

class SliceTable {
 public:
  // The chip must have passed check_chip(). kResourceExhausted, "chip.too_many_states", when its templates
  // allow more than kSliceStatesMax states.
  static Result<SliceTable> build(const ChipModel& chip);

  std::size_t size() const { return mixes_.size(); }
  std::uint32_t templates() const { return templates_; }

  const SliceMix& mix(SliceState state) const { return mixes_[state]; }
  std::optional<SliceState> find(const SliceMix& mix) const;

  // The state with one slice more or less; kNoState when that is not legal or not possible.
  SliceState cut(SliceState state, std::uint32_t shape) const { return cut_[at(state, shape)]; }
  SliceState heal(SliceState state, std::uint32_t shape, bool partner_stays) const {
    return (partner_stays ? heal_shared_ : heal_)[at(state, shape)];
  }
  // How many slices of this template alone could still be cut.
  std::int32_t room(SliceState state, std::uint32_t shape) const { return room_[at(state, shape)]; }
  std::int64_t free_ai_cores(SliceState state) const { return free_ai_cores_[state]; }

 private:
  std::size_t at(SliceState state, std::uint32_t shape) const {
    return std::size_t{state} * templates_ + shape;
  }
  void link(const ChipModel& chip);

  std::uint32_t templates_ = 0;
  std::vector<SliceMix> mixes_;     // in the order in which they were found from the uncut chip on
  std::vector<SliceState> by_mix_;  // sorted by mix
  std::vector<SliceState> cut_, heal_, heal_shared_;  // by state and template
  std::vector<std::int32_t> room_;
  std::vector<std::int64_t> free_ai_cores_;
};

}  // namespace tangram

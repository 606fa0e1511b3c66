// The rules by which a mix of slices may stand on one chip, written down once. The table of states is made by
// them; a test enumerates them a second way.
//
//  - At most `slices_max` slices.
//  - Of each resource (AI cores, AICPU, memory, each media engine) no more than the chip has, where it says.
//  - At most `count_max` of a template that has such a limit.
//  - A slice that owns the media engines stands beside none that uses one.
//  - With vGroups: every slice of two or more cores has one to itself, slices of one core share one in twos.
//    A group has at least two cores, so one that a single core uses alone withholds the other from all but a
//    further single core. There are no more groups than `vgroups`, and their cores are the chip's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "catalog/chip.h"

namespace tangram {

// How many slices of each template of a chip, in its order, and how many vGroups are half used by a slice of
// one core. Without vGroups that is always 0.
struct SliceMix {
  std::array<std::uint8_t, kTemplatesMax> counts{};
  std::uint8_t half_vgroups = 0;

  friend auto operator<=>(const SliceMix&, const SliceMix&) = default;
};

enum class SliceRule : std::uint8_t {
  kSlices,
  kResource,
  kTemplateCount,
  kDvppOwned,
  kVgroups,
  kVgroupCores
};

// One rule that a mix breaks, with its numbers.
struct SliceViolation {
  SliceRule rule = SliceRule::kSlices;
  ChipResource resource = ChipResource::kAiCores;  // kResource
  std::uint32_t shape = 0;                         // kTemplateCount, kDvppOwned: which template
  std::int64_t needed = 0;
  std::int64_t available = 0;

  friend bool operator==(const SliceViolation&, const SliceViolation&) = default;
};

// Everything that is wrong with the mix; empty: it is legal.
std::vector<SliceViolation> why_illegal(const ChipModel& chip, const SliceMix& mix);
bool is_legal(const ChipModel& chip, const SliceMix& mix);

// The mix with slices of one core put together as tightly as can be.
SliceMix tightest(const ChipModel& chip, const std::array<std::uint8_t, kTemplatesMax>& counts);

bool shares_vgroup(const ChipModel& chip, std::uint32_t shape);  // takes half a vGroup
std::int32_t slices_in(const SliceMix& mix);
std::int64_t taken(const ChipModel& chip, const SliceMix& mix, ChipResource resource);
// What a mix has of that which is too much in another: SliceViolation::needed, of this one.
std::int64_t counted(const ChipModel& chip, const SliceMix& mix, const SliceViolation& violation);

// One slice more: a single core joins a half used vGroup if there is one.
SliceMix with_slice(const ChipModel& chip, const SliceMix& mix, std::uint32_t shape);
// One slice less. `partner_stays`: of a single core, whether the other half of its vGroup stays in use.
SliceMix without_slice(const ChipModel& chip, const SliceMix& mix, std::uint32_t shape, bool partner_stays);

}  // namespace tangram

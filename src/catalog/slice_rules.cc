#include "catalog/slice_rules.h"

#include "base/invariant.h"

namespace tangram {
namespace {

struct Vgroups {
  std::int64_t groups = 0;
  std::int64_t cores = 0;
};

Vgroups vgroups_of(const ChipModel& chip, const SliceMix& mix) {
  std::int64_t singles = 0;
  Vgroups used;
  for (std::uint32_t i = 0; i < chip.templates.size(); ++i) {
    const std::int64_t count = mix.counts[i];
    if (shares_vgroup(chip, i)) {
      singles += count;
      continue;
    }
    used.groups += count;
    used.cores += count * chip.templates[i].ai_cores();
  }
  const std::int64_t shared = (singles + mix.half_vgroups) / 2;
  used.groups += shared;
  used.cores += shared * kCoresPerVgroup;
  return used;
}

void add_vgroup_violations(const ChipModel& chip, const SliceMix& mix, std::vector<SliceViolation>& found) {
  if (chip.vgroups == 0) return;
  const Vgroups used = vgroups_of(chip, mix);
  if (used.groups > chip.vgroups) {
    found.push_back({SliceRule::kVgroups, ChipResource::kAiCores, 0, used.groups, chip.vgroups});
  }
  const std::int64_t cores = chip.has[index_of(ChipResource::kAiCores)];
  if (used.cores > cores)
    found.push_back({SliceRule::kVgroupCores, ChipResource::kAiCores, 0, used.cores, cores});
}

std::int64_t dvpp_users(const ChipModel& chip, const SliceMix& mix) {
  std::int64_t users = 0;
  for (std::uint32_t i = 0; i < chip.templates.size(); ++i) {
    if (chip.templates[i].uses_dvpp()) users += mix.counts[i];
  }
  return users;
}

void add_dvpp_violation(const ChipModel& chip, const SliceMix& mix, std::vector<SliceViolation>& found) {
  const std::int64_t users = dvpp_users(chip, mix);
  for (std::uint32_t i = 0; i < chip.templates.size(); ++i) {
    if (!chip.templates[i].owns_dvpp || mix.counts[i] == 0 || users == 1) continue;
    found.push_back({SliceRule::kDvppOwned, ChipResource::kAiCores, i, users, 1});
    return;
  }
}

}  // namespace

bool shares_vgroup(const ChipModel& chip, std::uint32_t shape) {
  return chip.vgroups > 0 && chip.templates[shape].ai_cores() < kCoresPerVgroup;
}

std::int32_t slices_in(const SliceMix& mix) {
  std::int32_t slices = 0;
  for (const std::uint8_t count : mix.counts) slices += count;
  return slices;
}

std::int64_t taken(const ChipModel& chip, const SliceMix& mix, ChipResource resource) {
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < chip.templates.size(); ++i) {
    sum += mix.counts[i] * chip.templates[i].takes[index_of(resource)];
  }
  return sum;
}

std::int64_t counted(const ChipModel& chip, const SliceMix& mix, const SliceViolation& violation) {
  switch (violation.rule) {
    case SliceRule::kSlices:
      return slices_in(mix);
    case SliceRule::kResource:
      return taken(chip, mix, violation.resource);
    case SliceRule::kTemplateCount:
      return mix.counts[violation.shape];
    case SliceRule::kDvppOwned:
      return dvpp_users(chip, mix);
    case SliceRule::kVgroups:
      return vgroups_of(chip, mix).groups;
    case SliceRule::kVgroupCores:
      return vgroups_of(chip, mix).cores;
  }
  return 0;
}

std::vector<SliceViolation> why_illegal(const ChipModel& chip, const SliceMix& mix) {
  std::vector<SliceViolation> found;
  for (const ChipResource resource : kChipResources) {
    const std::int64_t needed = taken(chip, mix, resource);
    const std::int64_t available = chip.has[index_of(resource)];
    if (available != kUnlimited && needed > available)
      found.push_back({SliceRule::kResource, resource, 0, needed, available});
  }
  if (slices_in(mix) > chip.slices_max) {
    found.push_back({SliceRule::kSlices, ChipResource::kAiCores, 0, slices_in(mix), chip.slices_max});
  }
  for (std::uint32_t i = 0; i < chip.templates.size(); ++i) {
    const std::int32_t most = chip.templates[i].count_max;
    if (most > 0 && mix.counts[i] > most)
      found.push_back({SliceRule::kTemplateCount, ChipResource::kAiCores, i, mix.counts[i], most});
  }
  add_dvpp_violation(chip, mix, found);
  add_vgroup_violations(chip, mix, found);
  return found;
}

bool is_legal(const ChipModel& chip, const SliceMix& mix) {
  return why_illegal(chip, mix).empty();
}

SliceMix tightest(const ChipModel& chip, const std::array<std::uint8_t, kTemplatesMax>& counts) {
  SliceMix mix{counts, 0};
  std::int32_t singles = 0;
  for (std::uint32_t i = 0; i < chip.templates.size(); ++i) {
    if (shares_vgroup(chip, i)) singles += counts[i];
  }
  mix.half_vgroups = static_cast<std::uint8_t>(singles % 2);
  return mix;
}

SliceMix with_slice(const ChipModel& chip, const SliceMix& mix, std::uint32_t shape) {
  SliceMix next = mix;
  ++next.counts[shape];
  if (!shares_vgroup(chip, shape)) return next;
  if (next.half_vgroups > 0) {
    --next.half_vgroups;
  } else {
    ++next.half_vgroups;
  }
  return next;
}

SliceMix without_slice(const ChipModel& chip, const SliceMix& mix, std::uint32_t shape, bool partner_stays) {
  TG_ASSERT(mix.counts[shape] > 0, "only a slice that is there can go");
  SliceMix next = mix;
  --next.counts[shape];
  if (!shares_vgroup(chip, shape)) return next;
  TG_ASSERT(partner_stays || next.half_vgroups > 0, "a single core without a partner half uses its vGroup");
  if (partner_stays) {
    ++next.half_vgroups;
  } else {
    --next.half_vgroups;
  }
  return next;
}

}  // namespace tangram

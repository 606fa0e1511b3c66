#include "ascendsim/daemon/vnpu_book.h"

#include <algorithm>
#include <array>

namespace ascendsim {
namespace {

constexpr std::uint32_t kCoresPerVgroupMin = 2;

using CoresByVgroup = std::array<std::uint32_t, VnpuBook::kVgroups310P>;

CoresByVgroup cores_by_vgroup(const std::map<std::uint32_t, Vdev>& vdevs) {
  CoresByVgroup cores{};
  for (const auto& [id, vdev] : vdevs) cores.at(vdev.vgroup.value_or(0)) += vdev.shape->ai_cores;
  return cores;
}

// A group in use holds at least two cores, also with one vir01 in it.
std::uint32_t held(std::uint32_t cores) {
  return cores == 0 ? 0 : std::max(cores, kCoresPerVgroupMin);
}

float less(float whole, float part) {
  return whole < 0 ? whole : whole - std::max(part, 0.0F);
}

MediaUnits less(const MediaUnits& whole, const MediaUnits& part) {
  return {less(whole.vpc, part.vpc),     less(whole.venc, part.venc),   less(whole.vdec, part.vdec),
          less(whole.jpegd, part.jpegd), less(whole.jpege, part.jpege), less(whole.pngd, part.pngd)};
}

bool enough(float have, float need) {
  return have < 0 || have >= need;
}

bool enough(const MediaUnits& have, const MediaUnits& need) {
  return enough(have.vpc, need.vpc) && enough(have.venc, need.venc) && enough(have.vdec, need.vdec) &&
         enough(have.jpegd, need.jpegd) && enough(have.jpege, need.jpege) && enough(have.pngd, need.pngd);
}

}  // namespace

std::optional<std::uint32_t> VnpuBook::free_id(std::optional<std::uint32_t> wanted) const {
  const std::uint32_t first = kFirstId + phy_id_ * kPerChipMax;
  if (wanted) {
    const bool free = *wanted >= first && *wanted < first + kPerChipMax && vdevs_.count(*wanted) == 0;
    return free ? wanted : std::nullopt;
  }
  for (std::uint32_t id = first; id < first + kPerChipMax; ++id) {
    if (vdevs_.count(id) == 0) return id;
  }
  return std::nullopt;
}

VnpuResources VnpuBook::total() const {
  VnpuResources all;
  all.ai_cores = board_.ai_cores;
  all.memory_mb = board_.memory_mb_shared;
  if (board_.ai_cpus_known) all.ai_cpus = cut() ? board_.ai_cpus_cut : board_.ai_cpus;
  all.media = board_.media;
  if (board_.family == VnpuFamily::k310P) {
    all.vgroups = kVgroups310P;
    all.vgroup_bitmap = (1U << kVgroups310P) - 1;
  }
  return all;
}

VnpuResources VnpuBook::left() const {
  VnpuResources left = total();
  for (const auto& [id, vdev] : vdevs_) {
    left.ai_cores -= vdev.shape->ai_cores;
    left.memory_mb -= vdev.memory_mb;
    if (left.ai_cpus) *left.ai_cpus -= vdev.shape->ai_cpus;
    left.media = less(left.media, vdev.shape->media);
    if (left.vgroups != 0) left.vgroup_bitmap &= ~(1U << vdev.vgroup.value_or(0));
  }
  if (left.vgroups != 0) left.vgroups = static_cast<std::uint32_t>(__builtin_popcount(left.vgroup_bitmap));
  return left;
}

VnpuRefusal VnpuBook::check_resources(const VnpuTemplate& shape) const {
  VnpuResources left = this->left();
  // The first cut turns the data CPU into one more AICPU.
  if (!cut() && left.ai_cpus) left.ai_cpus = board_.ai_cpus_cut;
  if (shape.ai_cores > left.ai_cores) return VnpuRefusal::kAiCores;
  if (board_.usable_memory_mb(shape) > left.memory_mb) return VnpuRefusal::kMemory;
  if (left.ai_cpus && shape.ai_cpus > *left.ai_cpus) return VnpuRefusal::kAiCpus;
  return enough(left.media, shape.media) ? VnpuRefusal::kNone : VnpuRefusal::kMedia;
}

std::optional<std::uint32_t> VnpuBook::free_vgroup_310p(std::uint32_t ai_cores,
                                                        std::optional<std::uint32_t> wanted) const {
  const CoresByVgroup cores = cores_by_vgroup(vdevs_);
  std::uint32_t all_held = 0;
  for (const std::uint32_t one : cores) all_held += held(one);
  const auto fits = [&](std::uint32_t group) {
    if (cores.at(group) == 0) return all_held + held(ai_cores) <= board_.ai_cores;
    return cores.at(group) == 1 && ai_cores == 1;
  };
  if (wanted) return *wanted < kVgroups310P && fits(*wanted) ? wanted : std::nullopt;
  // A vir01 goes beside another before it opens a group of its own.
  for (const bool shared : {true, false}) {
    for (std::uint32_t group = 0; group < kVgroups310P; ++group) {
      if ((cores.at(group) != 0) == shared && fits(group)) return group;
    }
  }
  return std::nullopt;
}

std::uint32_t VnpuBook::lowest_unused_vgroup() const {
  std::uint32_t group = 0;
  const auto taken = [this](std::uint32_t number) {
    return std::ranges::any_of(vdevs_, [number](const auto& entry) { return entry.second.vgroup == number; });
  };
  while (taken(group)) ++group;
  return group;
}

VnpuRefusal VnpuBook::create(std::string_view template_name, std::optional<std::uint32_t> id,
                             std::optional<std::uint32_t> vgroup, Vdev* created) {
  if (board_.family == VnpuFamily::kNone) return VnpuRefusal::kNotSplittable;
  const VnpuTemplate* shape = board_.find(template_name);
  if (shape == nullptr) return VnpuRefusal::kTemplate;
  if (vdevs_.size() >= kPerChipMax) return VnpuRefusal::kCount;
  const auto chosen = free_id(id);
  if (!chosen) return VnpuRefusal::kId;
  if (const VnpuRefusal refusal = check_resources(*shape); refusal != VnpuRefusal::kNone) return refusal;
  Vdev vdev;
  vdev.id = *chosen;
  vdev.number = (*chosen - kFirstId) % kPerChipMax;
  vdev.shape = shape;
  vdev.memory_mb = board_.usable_memory_mb(*shape);
  if (board_.family == VnpuFamily::k310P) {
    vdev.vgroup = free_vgroup_310p(shape->ai_cores, vgroup);
    if (!vdev.vgroup) return VnpuRefusal::kVgroup;
  } else {
    if (vgroup) return VnpuRefusal::kVgroup;  // only the 310P's can be chosen
    if (board_.family != VnpuFamily::k910A) vdev.vgroup = lowest_unused_vgroup();
  }
  vdevs_.emplace(vdev.id, vdev);
  *created = vdev;
  return VnpuRefusal::kNone;
}

}  // namespace ascendsim

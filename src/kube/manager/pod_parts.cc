#include "kube/manager/pod_parts.h"

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "scheduler/shared_parts.h"

namespace tangram::kube::manager {
namespace {

Part part_of(const ContainerNeed& need, const Chips& chips) {
  Part part;
  part.chip = need.word.substr(0, 64);
  if (!need.slice) {
    part.kind = RequestKind::kWhole;
    part.npus = static_cast<std::int32_t>(need.count);
    // Not what was granted: NPUs of one model report sizes that differ by a little.
    part.memory_per_npu = Bytes::mib(need.asked_mib);
    return part;
  }
  part.kind = RequestKind::kSlice;
  // HAMi's sizes of templates are not always those that the device has.
  const SliceTemplate* const shape = chips.find_template(need.word, need.template_name);
  part.memory_per_npu = shape != nullptr ? shape->memory : Bytes::mib(need.granted_mib);
  part.ai_cores = shape != nullptr ? static_cast<std::int32_t>(shape->ai_cores()) : 0;
  return part;
}

const ContainerAllocation* find_container(const Allocation& allocation, std::string_view name) {
  const auto at = std::find_if(allocation.containers.begin(), allocation.containers.end(),
                               [name](const ContainerAllocation& one) { return one.container == name; });
  return at == allocation.containers.end() ? nullptr : &*at;
}

SlicePlacement slice_of(const ContainerAllocation& container, const ContainerNeed& need, const Chips& chips,
                        const NpuReport& npu) {
  SlicePlacement slice;
  slice.template_name = container.template_name.substr(0, 64);
  slice.vgroup = container.vgroup.value_or(kNoVgroup);
  const SliceTemplate* shape = chips.find_template_of(npu.template_set, container.template_name);
  if (shape == nullptr) shape = chips.find_template(need.word, container.template_name);
  slice.memory = shape != nullptr ? shape->memory : Bytes::mib(need.granted_mib);
  slice.usable_memory = shape != nullptr ? shape->usable_memory : slice.memory;
  slice.ai_cores = shape != nullptr ? static_cast<std::int32_t>(shape->ai_cores()) : 0;
  return slice;
}

// Nothing known of it: an empty place.
PartPlace place_of(const ContainerAllocation& container, const ContainerNeed& need, const Chips& chips,
                   const Scheduler& core, const FindNpu& find) {
  PartPlace place;
  for (const AllocatedNpu& npu : container.npus) {
    const std::optional<NpuIndex> found = find(npu);
    if (!found) return {};
    place.npus.push_back(*found);
  }
  std::sort(place.npus.begin(), place.npus.end());
  place.npus.erase(std::unique(place.npus.begin(), place.npus.end()), place.npus.end());
  if (container.kind == GrantKind::kSlice) {
    const std::optional<NpuView> view = core.npu(place.npus.front());
    place.slice = slice_of(container, need, chips, view ? view->report : NpuReport{});
  }
  return place;
}

}  // namespace

PodParts parts_of(const std::vector<ContainerNeed>& needs, const Chips& chips) {
  std::vector<ContainerAsk> asks;
  asks.reserve(needs.size());
  for (const ContainerNeed& need : needs) asks.push_back({part_of(need, chips), need.init, need.sidecar});
  SharedParts shared = share_parts(asks);
  return {std::move(shared.parts), std::move(shared.part_for)};
}

std::string why_unfit(const std::vector<ContainerNeed>& needs, const Chips& chips) {
  for (const ContainerNeed& need : needs) {
    if (!need.slice || chips.find_template(need.word, need.template_name) != nullptr) continue;
    return "its container " + quoted(need.container) + " was granted template " + quoted(need.template_name) +
           " of " + quoted(need.word) + ", which no chip has";
  }
  return {};
}

Places places_of(const Allocation& allocation, const std::vector<ContainerNeed>& needs, const PodParts& parts,
                 const Chips& chips, const Scheduler& core, const FindNpu& find) {
  Places found;
  found.places.resize(parts.parts.size());
  std::vector<std::uint8_t> is_known(parts.parts.size(), 0);
  // Containers that share a part have the same NPUs; an ordinary one says best which.
  for (const bool init : {false, true}) {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const std::uint32_t part = parts.part_for[i];
      if ((needs[i].init && !needs[i].sidecar) != init || is_known[part] != 0) continue;
      const ContainerAllocation* const container = find_container(allocation, needs[i].container);
      if (container == nullptr) continue;
      found.places[part] = place_of(*container, needs[i], chips, core, find);
      is_known[part] = 1;
    }
  }
  found.unresolved = std::any_of(found.places.begin(), found.places.end(),
                                 [](const PartPlace& place) { return place.npus.empty(); });
  return found;
}

std::vector<ContainerAllocation> containers_of(const std::vector<PartPlace>& places,
                                               const std::vector<ContainerNeed>& needs, const PodParts& parts,
                                               const Scheduler& core, const NameNpu& name) {
  std::vector<ContainerAllocation> containers;
  containers.reserve(needs.size());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const PartPlace& place = places[parts.part_for[i]];
    ContainerAllocation container;
    container.container = needs[i].container;
    container.kind = place.slice ? GrantKind::kSlice : GrantKind::kWhole;
    if (place.slice) {
      container.template_name = place.slice->template_name;
      if (place.slice->vgroup != kNoVgroup) container.vgroup = place.slice->vgroup;
    }
    for (const NpuIndex npu : place.npus) {
      // One that runs before the others may have asked for fewer.
      const bool enough = !needs[i].slice && std::ssize(container.npus) == needs[i].count;
      const std::optional<NpuView> view = core.npu(npu);
      if (enough || !view) break;
      container.npus.push_back({name(*view), std::int64_t{view->report.physical_id}});
    }
    containers.push_back(std::move(container));
  }
  return containers;
}

}  // namespace tangram::kube::manager

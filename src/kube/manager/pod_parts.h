// A Pod's containers as parts of a job, and the places of those parts as the annotation
// tangram.dev/allocation has them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/manager/chips.h"
#include "kube/manager/facts.h"
#include "kube/protocol/allocation.h"
#include "model/part.h"
#include "scheduler/scheduler.h"

namespace tangram::kube::manager {

struct PodParts {
  std::vector<Part> parts;
  std::vector<std::uint32_t> part_for;  // by container, in the order of PodFacts::needs
};

// Never fails: a template that no chip has (any more) counts as what was granted.
PodParts parts_of(const std::vector<ContainerNeed>& needs, const Chips& chips);

// Why these needs cannot be queued at all; empty: they can. What is admitted already is booked all the same.
std::string why_unfit(const std::vector<ContainerNeed>& needs, const Chips& chips);

// An NPU of the node by what an allocation says of it; none: it is not known.
using FindNpu = std::function<std::optional<NpuIndex>(const AllocatedNpu&)>;

struct Places {
  std::vector<PartPlace> places;  // one for each part; without NPUs where they are not known
  bool unresolved = false;        // some are not known
};
// Of an allocation on the node that `find` looks at.
Places places_of(const Allocation& allocation, const std::vector<ContainerNeed>& needs, const PodParts& parts,
                 const Chips& chips, const Scheduler& core, const FindNpu& find);

// The other way: what is to be written for places that the core has chosen. `name`: how the node's NPUs are
// called.
using NameNpu = std::function<std::string(const NpuView&)>;
std::vector<ContainerAllocation> containers_of(const std::vector<PartPlace>& places,
                                               const std::vector<ContainerNeed>& needs, const PodParts& parts,
                                               const Scheduler& core, const NameNpu& name);

}  // namespace tangram::kube::manager

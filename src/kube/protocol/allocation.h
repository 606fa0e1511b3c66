// Which NPUs a Pod was bound to: the annotation tangram.dev/allocation, written by the extender before the
// binding and read by the node agent.
//
//   {"node":"n1","time":"2026-01-31T08:00:00.000Z","containers":[{"container":"main","kind":"slice",
//    "template":"vir02_1c","npus":[{"uuid":"…","index":0}],"vgroup":1}]}
//
// Reading is total, as in container_request.h. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/protocol/container_request.h"

namespace tangram::kube {

struct AllocatedNpu {
  std::string uuid;
  std::int64_t index = 0;  // physical id on the node

  friend bool operator==(const AllocatedNpu&, const AllocatedNpu&) = default;
};

struct ContainerAllocation {
  std::string container;
  GrantKind kind = GrantKind::kWhole;
  std::string template_name;       // of a slice
  std::vector<AllocatedNpu> npus;  // at least one; of a slice exactly one
  // Of a slice on a chip with vGroups (310P): in which one it was counted, and is to be cut.
  std::optional<std::int32_t> vgroup{};

  friend bool operator==(const ContainerAllocation&, const ContainerAllocation&) = default;
};

struct Allocation {
  std::string node;
  std::string time;  // RFC 3339
  std::vector<ContainerAllocation> containers;

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

std::string write_allocation(const Allocation& allocation);
// kInvalidArgument "kube.annotation.invalid".
Result<Allocation> read_allocation(std::string_view text);

}  // namespace tangram::kube

// Tangram's custom resources on a Kubernetes cluster, as plain values: kinds Tenant, ChipModel and NodeConfig
// of tangram.dev/v1. What a resource has in common with a document of one machine has the same fields, from
// the same tables. Reading is tolerant of fields that a newer version may have; the API server's schema
// (crd.h) refuses what is misspelt. Errors as in schema.h, with the path. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/chip.h"
#include "wire/npu_resource.h"
#include "wire/types.h"

namespace tangram::wire {

inline constexpr std::size_t kSelectorEntriesMax = 64;
inline constexpr std::size_t kSelectorValuesMax = 256;
inline constexpr std::int32_t kSharesPerNpuMax = 1'000;

enum class SelectorOperator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist };

struct LabelRequirement {
  std::string key;
  SelectorOperator operation = SelectorOperator::kExists;
  std::vector<std::string> values;

  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;
};

// As Kubernetes has it: all must hold; an empty one selects everything.
struct LabelSelector {
  std::map<std::string, std::string> match_labels;
  std::vector<LabelRequirement> match_expressions;

  bool selects_everything() const { return match_labels.empty() && match_expressions.empty(); }
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

using Labels = std::map<std::string, std::string, std::less<>>;
bool matches(const LabelSelector& selector, const Labels& labels);

// kind: Tenant.
struct ClusterTenant {
  TenantDoc tenant;
  std::optional<LabelSelector> namespaces;  // whose Pods are the tenant's; none: no namespace's

  friend bool operator==(const ClusterTenant&, const ClusterTenant&) = default;
};

// kind: ChipModel. A chip that is not built in, or another word for one.
struct ClusterChip {
  std::string name;
  std::string word;    // "Ascend310P": asked for as huawei.com/Ascend310P
  Bytes whole_memory;  // of a whole NPU; 0: what its slices share
  bool in_pairs = false;
  ChipModel chip;

  NpuResource resource() const;
};

// kind: NodeConfig. How nodes are used that differ from the others.
struct NodeConfig {
  std::string name;
  LabelSelector nodes;
  std::int32_t shares_per_npu = 0;  // as devices of the kubelet; 0: as many as fit of the smallest template
  bool cut = true;                  // false: NPUs are only given whole
  std::vector<std::uint32_t> excluded_npus;  // physical ids that Tangram leaves alone

  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
};

// One object as the API gives it.
Result<ClusterTenant> read_cluster_tenant(std::string_view json);
Result<ClusterChip> read_cluster_chip(std::string_view json);
Result<NodeConfig> read_node_config(std::string_view json);

}  // namespace tangram::wire

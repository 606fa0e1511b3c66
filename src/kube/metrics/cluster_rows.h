// What metrics say of a cluster, taken out of the API's objects: NPUs that agents have announced, what Pods
// are given of them, and what Tenants may have. Values; pure functions of any JSON. What cannot be read is
// not there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/json.h"

namespace tangram::kube::metrics {

struct NpuRow {
  std::string uuid;
  std::int64_t index = 0;  // on its node
  std::string chip;
  std::string word;  // HAMi's type; empty: it has none
  bool healthy = false;
  std::optional<std::int64_t> memory_mib;
  std::optional<std::int64_t> ai_cores;
  std::int64_t shares = 0;
  std::int64_t strays = 0;

  friend bool operator==(const NpuRow&, const NpuRow&) = default;
};

struct NodeRow {
  std::vector<NpuRow> npus;

  friend bool operator==(const NodeRow&, const NodeRow&) = default;
};

// What a container has of one NPU. An init container that ends before the others begin counts where it holds
// more than all of them.
struct Holding {
  std::string container;
  std::int64_t place = 0;  // of the container in the Pod, init containers first
  std::string uuid;
  std::int64_t npu = 0;  // index on the node
  std::int64_t memory_mib = 0;
  std::string template_name;  // empty: a whole one

  friend bool operator==(const Holding&, const Holding&) = default;
};

struct PodRow {
  std::string space;
  std::string name;
  std::string node;                                // empty: not bound
  std::vector<Holding> holdings;                   // of a bound one
  std::map<std::string, std::int64_t> memory_mib;  // of a bound one, by "huawei.com/Ascend310P-memory"
  std::optional<std::int64_t> queued_since;        // seconds since the epoch, while its gate is closed

  friend bool operator==(const PodRow&, const PodRow&) = default;
};

struct TenantAmounts {
  std::optional<std::int64_t> npus;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> ai_cores;
  std::optional<std::int64_t> running_jobs;

  friend bool operator==(const TenantAmounts&, const TenantAmounts&) = default;
};

// As the manager has written it into the Tenant's status.
struct TenantRow {
  TenantAmounts used;
  TenantAmounts limits;
  std::optional<std::int64_t> queued;

  friend bool operator==(const TenantRow&, const TenantRow&) = default;
};

// None: nothing to tell of it (a node without NPUs, a Pod that has ended).
std::optional<NodeRow> node_row(const json::object& node);
std::optional<PodRow> pod_row(const json::object& pod);
std::optional<TenantRow> tenant_row(const json::object& tenant);

struct ClusterRows {
  std::map<std::string, NodeRow> nodes;      // by name
  std::map<std::string, PodRow> pods;        // by "namespace/name"
  std::map<std::string, TenantRow> tenants;  // by name
};

}  // namespace tangram::kube::metrics

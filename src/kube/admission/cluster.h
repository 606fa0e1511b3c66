// What admission has to know of the cluster, as an interface: whoever holds the book answers. Implementations
// are thread-safe, answer at once and from memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/admission/limits.h"

namespace tangram::kube::admission {

// One line of a namespace's ResourceQuota that only HAMi and Tangram heed: the API server counts requests of
// such resources, but not their limits.
struct NamespaceQuota {
  std::string name;  // of the ResourceQuota
  std::string key;   // "limits.huawei.com/Ascend310P-memory"
  std::int64_t hard = 0;
  std::int64_t used = 0;  // by the namespace's Pods that have not ended

  friend bool operator==(const NamespaceQuota&, const NamespaceQuota&) = default;
};

class Cluster {
 public:
  Cluster() = default;
  virtual ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // The namespace's tenant, then those above it. Errors: "admission.tenant.none", "admission.tenant.several",
  // "admission.not_ready" when what there is has not been read yet.
  virtual Result<std::vector<TenantLimits>> tenant_of(std::string_view space) const = 0;
  virtual std::vector<NamespaceQuota> quotas_of(std::string_view space) const = 0;
};

}  // namespace tangram::kube::admission

// Which tenant a namespace belongs to, by the Tenants' selectors, what its ResourceQuotas say, and what its
// Pods use of them: kept from what watches report (feed.h), asked by admission.
//
// A namespace belongs to the tenant whose namespaceSelector selects it. Two that do are an error, which is
// told to whoever makes a Pod: neither may pay for the other. A tenant whose selector selects everything has
// the namespaces that nobody else selects.
//
// Thread-safe; answers under a lock that is held for a search alone.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kube/admission/cluster.h"
#include "wire/cluster.h"

namespace tangram::kube::admission {

inline constexpr int kTenantDepthMax = 64;

// Amounts by keys of a ResourceQuota: "limits.huawei.com/Ascend310P-memory".
using QuotaLimits = std::map<std::string, std::int64_t>;

class Directory final : public Cluster {
 public:
  void put_tenant(wire::ClusterTenant tenant);
  void remove_tenant(std::string_view name);
  void put_namespace(std::string name, wire::Labels labels);
  void remove_namespace(std::string_view name);
  // One ResourceQuota: its limits by key. `name` is "namespace/name", as in all that follows.
  void put_quota(const std::string& name, QuotaLimits limits);
  void remove_quota(std::string_view name);
  // What a Pod that has not ended uses, by the same keys.
  void put_pod(const std::string& name, QuotaLimits use);
  void remove_pod(std::string_view name);
  // Until everything that was there at the start has been put, nobody is let in.
  void set_ready();

  // Further errors: "admission.tenant.invalid" for a tenant whose parents are missing or go in a circle.
  Result<std::vector<TenantLimits>> tenant_of(std::string_view space) const override;
  std::vector<NamespaceQuota> quotas_of(std::string_view space) const override;

  // Whether set_ready() was called: until then whoever asks is told to come back.
  bool ready() const;
  // quotas_of() each namespace that has any.
  std::map<std::string, std::vector<NamespaceQuota>> all_quotas() const;

 private:
  Result<const wire::ClusterTenant*> owner_of(std::string_view space) const;
  Result<std::vector<TenantLimits>> chain_of(const wire::ClusterTenant& tenant) const;

  mutable std::mutex mutex_;
  bool ready_ = false;
  std::map<std::string, wire::ClusterTenant, std::less<>> tenants_;
  std::map<std::string, wire::Labels, std::less<>> namespaces_;
  // By namespace, then by name.
  using Amounts = std::map<std::string, std::map<std::string, QuotaLimits, std::less<>>, std::less<>>;
  static void put(Amounts& amounts, std::string_view name, QuotaLimits value);
  static void remove(Amounts& amounts, std::string_view name);

  Amounts quotas_;
  Amounts uses_;
};

}  // namespace tangram::kube::admission

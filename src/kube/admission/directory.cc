#include "kube/admission/directory.h"

#include <utility>

#include "base/quote.h"

namespace tangram::kube::admission {

void Directory::put_tenant(wire::ClusterTenant tenant) {
  const std::lock_guard lock(mutex_);
  std::string name = tenant.tenant.name;
  tenants_.insert_or_assign(std::move(name), std::move(tenant));
}

void Directory::remove_tenant(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto at = tenants_.find(name); at != tenants_.end()) tenants_.erase(at);
}

void Directory::put_namespace(std::string name, wire::Labels labels) {
  const std::lock_guard lock(mutex_);
  namespaces_.insert_or_assign(std::move(name), std::move(labels));
}

void Directory::remove_namespace(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto at = namespaces_.find(name); at != namespaces_.end()) namespaces_.erase(at);
}

void Directory::put(Amounts& amounts, std::string_view name, QuotaLimits value) {
  amounts[std::string(name.substr(0, name.find('/')))].insert_or_assign(std::string(name), std::move(value));
}

void Directory::remove(Amounts& amounts, std::string_view name) {
  const auto space = amounts.find(name.substr(0, name.find('/')));
  if (space == amounts.end()) return;
  if (const auto at = space->second.find(name); at != space->second.end()) space->second.erase(at);
  if (space->second.empty()) amounts.erase(space);
}

void Directory::put_quota(const std::string& name, QuotaLimits limits) {
  const std::lock_guard lock(mutex_);
  put(quotas_, name, std::move(limits));
}

void Directory::remove_quota(std::string_view name) {
  const std::lock_guard lock(mutex_);
  remove(quotas_, name);
}

void Directory::put_pod(const std::string& name, QuotaLimits use) {
  const std::lock_guard lock(mutex_);
  put(uses_, name, std::move(use));
}

void Directory::remove_pod(std::string_view name) {
  const std::lock_guard lock(mutex_);
  remove(uses_, name);
}

void Directory::set_ready() {
  const std::lock_guard lock(mutex_);
  ready_ = true;
}

Result<const wire::ClusterTenant*> Directory::owner_of(std::string_view space) const {
  const auto found = namespaces_.find(space);
  const wire::Labels labels = found == namespaces_.end() ? wire::Labels() : found->second;
  std::vector<const wire::ClusterTenant*> owners;
  std::vector<const wire::ClusterTenant*> of_the_rest;
  for (const auto& [name, tenant] : tenants_) {
    if (!tenant.namespaces || !wire::matches(*tenant.namespaces, labels)) continue;
    (tenant.namespaces->selects_everything() ? of_the_rest : owners).push_back(&tenant);
  }
  if (owners.empty()) owners = std::move(of_the_rest);
  if (owners.size() == 1) return owners.front();
  if (!owners.empty()) {
    return fail(Code::kFailedPrecondition, "admission.tenant.several",
                "namespace " + std::string(space) + " is selected by Tenant " + owners[0]->tenant.name +
                    " and by Tenant " + owners[1]->tenant.name,
                "have the operator change one of their namespaceSelectors");
  }
  return fail(Code::kPermissionDenied, "admission.tenant.none",
              "namespace " + std::string(space) + " belongs to no Tenant, and only tenants have NPUs",
              "have the operator give it a label that a Tenant's namespaceSelector selects");
}

Result<std::vector<TenantLimits>> Directory::chain_of(const wire::ClusterTenant& tenant) const {
  std::vector<TenantLimits> chain;
  const wire::ClusterTenant* at = &tenant;
  for (int depth = 0; depth < kTenantDepthMax; ++depth) {
    chain.push_back({at->tenant.name, at->tenant.quota});
    if (at->tenant.parent.empty()) return chain;
    const auto above = tenants_.find(at->tenant.parent);
    if (above == tenants_.end()) {
      return fail(Code::kFailedPrecondition, "admission.tenant.invalid",
                  "Tenant " + at->tenant.name + " has the parent " + quoted(at->tenant.parent) +
                      ", which is not there",
                  "have the operator make it, or correct spec.parent");
    }
    at = &above->second;
  }
  return fail(Code::kFailedPrecondition, "admission.tenant.invalid",
              "the parents of Tenant " + tenant.tenant.name + " go in a circle",
              "have the operator correct spec.parent of one of them");
}

Result<std::vector<TenantLimits>> Directory::tenant_of(std::string_view space) const {
  const std::lock_guard lock(mutex_);
  if (!ready_) {
    return fail(Code::kUnavailable, "admission.not_ready", "Tangram has not read the cluster's Tenants yet",
                "try again in some seconds");
  }
  TG_TRY(const wire::ClusterTenant* const owner, owner_of(space));
  return chain_of(*owner);
}

std::vector<NamespaceQuota> Directory::quotas_of(std::string_view space) const {
  const std::lock_guard lock(mutex_);
  std::vector<NamespaceQuota> lines;
  const auto quotas = quotas_.find(space);
  if (quotas == quotas_.end()) return lines;
  QuotaLimits used;
  if (const auto uses = uses_.find(space); uses != uses_.end()) {
    for (const auto& [pod, use] : uses->second) {
      for (const auto& [key, amount] : use) used[key] += amount;
    }
  }
  for (const auto& [name, limits] : quotas->second) {
    for (const auto& [key, hard] : limits) {
      const auto at = used.find(key);
      lines.push_back(
          {name.substr(name.find('/') + 1), key, hard, at == used.end() ? std::int64_t{0} : at->second});
    }
  }
  return lines;
}

bool Directory::ready() const {
  const std::lock_guard lock(mutex_);
  return ready_;
}

std::map<std::string, std::vector<NamespaceQuota>> Directory::all_quotas() const {
  std::vector<std::string> spaces;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [space, quotas] : quotas_) spaces.push_back(space);
  }
  std::map<std::string, std::vector<NamespaceQuota>> all;
  for (const std::string& space : spaces) all.emplace(space, quotas_of(space));
  return all;
}

}  // namespace tangram::kube::admission

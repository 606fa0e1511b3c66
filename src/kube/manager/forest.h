// The Tenants of a cluster as the core takes them: parents first, and nobody without a place. A Tenant can be
// made and deleted at any time, also while Pods are charged to it or others stand below it. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/tenant.h"
#include "wire/cluster.h"

namespace tangram::kube::manager {

using TenantDocs = std::map<std::string, wire::ClusterTenant, std::less<>>;  // by their names

struct ForestTenant {
  TenantSpec spec;
  std::string closed;  // why nothing is admitted for it, as a sentence; empty: it is as its Tenant says

  friend bool operator==(const ForestTenant&, const ForestTenant&) = default;
};

// Every Tenant, and every one of `charged` that is no Tenant (any more), in an order that the core can take
// them in. Closed, at the top and with a quota of nothing: who has no Tenant, and whose parents are missing,
// go in a circle or are too deep.
std::vector<ForestTenant> forest_of(const TenantDocs& tenants, const std::set<std::string>& charged);

}  // namespace tangram::kube::manager

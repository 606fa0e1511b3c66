#include "kube/manager/forest.h"

#include <optional>
#include <utility>

#include "base/quote.h"

namespace tangram::kube::manager {
namespace {

// As admission counts it.
constexpr int kDepthMax = 16;

// How many stand above it; none, and why, when that cannot be told.
struct Depth {
  std::optional<int> above;
  std::string closed;
};

Depth depth_of(const TenantDocs& tenants, const wire::ClusterTenant& tenant) {
  const wire::ClusterTenant* at = &tenant;
  for (int above = 0; above < kDepthMax; ++above) {
    const std::string& parent = at->tenant.parent;
    if (parent.empty()) return {above, {}};
    const auto found = tenants.find(parent);
    if (found == tenants.end()) {
      return {std::nullopt,
              "Tenant " + at->tenant.name + " has the parent " + quoted(parent) + ", which is not there"};
    }
    at = &found->second;
  }
  return {std::nullopt, "the parents of Tenant " + tenant.tenant.name + " go in a circle or are too many"};
}

Quota nothing() {
  Quota quota;
  quota.npus = 0;
  quota.running_jobs = 0;
  return quota;
}

}  // namespace

std::vector<ForestTenant> forest_of(const TenantDocs& tenants, const std::set<std::string>& charged) {
  std::map<int, std::vector<ForestTenant>> by_depth;
  for (const auto& [name, doc] : tenants) {
    Depth depth = depth_of(tenants, doc);
    if (depth.above) {
      by_depth[*depth.above].push_back({{name, doc.tenant.parent, doc.tenant.quota}, {}});
    } else {
      by_depth[0].push_back({{name, {}, nothing()}, std::move(depth.closed)});
    }
  }
  for (const std::string& name : charged) {
    if (tenants.contains(name)) continue;
    by_depth[0].push_back({{name, {}, nothing()}, "there is no Tenant " + quoted(name)});
  }
  std::vector<ForestTenant> forest;
  for (auto& [depth, level] : by_depth) {
    for (ForestTenant& tenant : level) forest.push_back(std::move(tenant));
  }
  return forest;
}

}  // namespace tangram::kube::manager

#include "kube/manager/forest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::kube::manager {
namespace {

using ::testing::HasSubstr;

TenantDocs docs(std::initializer_list<std::pair<std::string, std::string>> parents) {
  TenantDocs tenants;
  for (const auto& [name, parent] : parents) {
    wire::ClusterTenant tenant;
    tenant.tenant.name = name;
    tenant.tenant.parent = parent;
    tenant.tenant.quota.npus = 4;
    tenants.emplace(name, tenant);
  }
  return tenants;
}

std::vector<std::string> names_of(const std::vector<ForestTenant>& forest) {
  std::vector<std::string> names;
  for (const ForestTenant& tenant : forest) names.push_back(tenant.spec.name);
  return names;
}

// Without this, the core would refuse a tenant whose parent comes later in the list.
TEST(Forest, ParentsComeFirst) {
  const auto forest = forest_of(docs({{"a", "b"}, {"b", "c"}, {"c", ""}, {"d", "c"}}), {"a", "c"});
  EXPECT_EQ(names_of(forest), (std::vector<std::string>{"c", "b", "d", "a"}));
  for (const ForestTenant& tenant : forest) {
    EXPECT_EQ(tenant.closed, "");
    EXPECT_EQ(tenant.spec.quota.npus, 4);
  }
}

// Without this, a tenant without its parent would have no limit above it any more.
TEST(Forest, WhoHasNoWayToTheTopIsClosed) {
  const auto forest = forest_of(docs({{"a", "gone"}, {"b", "a"}, {"x", "y"}, {"y", "x"}}), {"nobody"});
  ASSERT_EQ(forest.size(), 5U);
  for (const ForestTenant& tenant : forest) {
    EXPECT_EQ(tenant.spec.quota.npus, 0) << tenant.spec.name;
    EXPECT_EQ(tenant.spec.quota.running_jobs, 0) << tenant.spec.name;
    EXPECT_EQ(tenant.spec.parent, "") << tenant.spec.name;
    EXPECT_NE(tenant.closed, "") << tenant.spec.name;
  }
  EXPECT_THAT(forest[0].closed, HasSubstr("\"gone\""));
  EXPECT_THAT(forest[2].closed, HasSubstr("circle"));
  EXPECT_THAT(forest[4].closed, HasSubstr("no Tenant \"nobody\""));
}

}  // namespace
}  // namespace tangram::kube::manager

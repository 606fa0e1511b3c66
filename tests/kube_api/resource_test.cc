#include "kube/api/resource.h"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

// Without this, a request would go to another kind or another object than was meant.
TEST(Resource, MakesThePathsOfTheApi) {
  const Resource tenants{"tangram.dev", "v1", "tenants", false, "Tenant"};
  EXPECT_EQ(*path_of({resources::pods(), "team-a", "train-0"}), "/api/v1/namespaces/team-a/pods/train-0");
  EXPECT_EQ(*path_of({resources::pods(), "team-a", "train-0", "status"}),
            "/api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(*path_of({tenants, "", "a", "status"}), "/apis/tangram.dev/v1/tenants/a/status");
  EXPECT_EQ(*path_of(resources::pods(), ""), "/api/v1/pods");
  EXPECT_EQ(*path_of(resources::leases(), "kube-system"),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
  EXPECT_EQ(*path_of({Resource{"rbac.authorization.k8s.io", "v1", "clusterroles", false, "ClusterRole"}, "",
                      "system:node"}),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode");
  EXPECT_EQ((ObjectName{resources::pods(), "team-a", "train-0", "binding"}).to_string(),
            "pods team-a/train-0/binding");
}

// Without this, a name that somebody else chose could lead to another object than the one that was checked.
TEST(Resource, RefusesNamesThatLeadElsewhere) {
  for (const std::string name : {"", "..", ".", "a/b", "a b", "a%2Fb", "a\nb"}) {
    const auto path = path_of({resources::nodes(), "", name});
    ASSERT_FALSE(path) << name;
    EXPECT_EQ(path.error().reason, "kube.name.invalid");
    EXPECT_FALSE(path_of({resources::pods(), "team-a", name})) << name;
    EXPECT_FALSE(path_of({resources::pods(), name, "train-0"})) << name;
  }
  EXPECT_FALSE(path_of({resources::nodes(), "team-a", "node-a"})) << "nodes have no namespace";
  EXPECT_FALSE(path_of({resources::nodes(), "", std::string(254, 'a')}));
}

}  // namespace
}  // namespace tangram::kube

#include "kube/admission/directory.h"

#include <gtest/gtest.h>

namespace tangram::kube::admission {
namespace {

wire::ClusterTenant tenant(std::string name, std::optional<wire::LabelSelector> namespaces,
                           std::string parent = "") {
  wire::ClusterTenant made;
  made.tenant.name = std::move(name);
  made.tenant.parent = std::move(parent);
  made.namespaces = std::move(namespaces);
  return made;
}

wire::LabelSelector label(std::string value) {
  wire::LabelSelector selector;
  selector.match_labels.emplace("team", std::move(value));
  return selector;
}

class DirectoryTest : public ::testing::Test {
 protected:
  DirectoryTest() {
    directory.put_tenant(tenant("org", std::nullopt));
    directory.put_tenant(tenant("a", label("a"), "org"));
    directory.put_tenant(tenant("b", label("b")));
    directory.put_namespace("a-1", {{"team", "a"}});
    directory.put_namespace("b-1", {{"team", "b"}});
    directory.put_namespace("free", {});
    directory.set_ready();
  }

  std::string reason(std::string_view space) const {
    const auto chain = directory.tenant_of(space);
    return chain ? chain->front().name : chain.error().reason;
  }

  Directory directory;
};

// Without this, a Pod would be charged to a stranger, or to nobody.
TEST_F(DirectoryTest, ANamespaceIsItsTenants) {
  EXPECT_EQ(reason("a-1"), "a");
  EXPECT_EQ(reason("b-1"), "b");
  EXPECT_EQ(reason("free"), "admission.tenant.none");
  EXPECT_EQ(reason("not-there"), "admission.tenant.none");
  const auto chain = directory.tenant_of("a-1");
  ASSERT_EQ(chain->size(), 2U);
  EXPECT_EQ(chain->back().name, "org") << "limits of those above bind as well";
}

// Without this, a catch-all tenant would make every other ambiguous, or nobody would have what is left.
TEST_F(DirectoryTest, ATenantForTheRestHasWhatNobodyElseHas) {
  directory.put_tenant(tenant("rest", wire::LabelSelector{}));
  EXPECT_EQ(reason("a-1"), "a");
  EXPECT_EQ(reason("free"), "rest");
  directory.put_tenant(tenant("rest-2", wire::LabelSelector{}));
  EXPECT_EQ(reason("free"), "admission.tenant.several");
  EXPECT_EQ(reason("a-1"), "a");
  directory.remove_tenant("rest-2");
  EXPECT_EQ(reason("free"), "rest");
}

// Without this, who comes first by name would pay for both.
TEST_F(DirectoryTest, TwoTenantsOfOneNamespaceAreToldOf) {
  directory.put_tenant(tenant("c", label("a")));
  const auto chain = directory.tenant_of("a-1");
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "admission.tenant.several");
  EXPECT_NE(chain.error().message.find("Tenant a and by Tenant c"), std::string::npos)
      << chain.error().message;
}

// Without this, a circle of parents would never be left, or a missing parent's limits not be missed.
TEST_F(DirectoryTest, ParentsMustLeadToTheTop) {
  directory.put_tenant(tenant("a", label("a"), "nobody"));
  EXPECT_EQ(reason("a-1"), "admission.tenant.invalid");
  directory.put_tenant(tenant("a", label("a"), "b"));
  directory.put_tenant(tenant("b", label("b"), "a"));
  EXPECT_EQ(reason("a-1"), "admission.tenant.invalid");
}

// Without this, a namespace would keep a tenant that its labels no longer say.
TEST_F(DirectoryTest, FollowsWhatChanges) {
  directory.put_namespace("a-1", {{"team", "b"}});
  EXPECT_EQ(reason("a-1"), "b");
  directory.remove_namespace("a-1");
  EXPECT_EQ(reason("a-1"), "admission.tenant.none");
}

// Without this, a quota would count Pods that have gone, those of others, or the last of two quotas would
// win.
TEST_F(DirectoryTest, QuotasCountTheirOwnNamespacesPods) {
  const std::string key = "limits.huawei.com/Ascend310P-memory";
  directory.put_quota("a-1/npus", {{key, 10'000}});
  directory.put_quota("a-1/more", {{key, 20'000}, {"limits.huawei.com/Ascend910B4-memory", 5}});
  directory.put_pod("a-1/p", {{key, 3'072}});
  directory.put_pod("a-1/q", {{key, 6'144}});
  directory.put_pod("b-1/p", {{key, 12'288}});
  EXPECT_EQ(directory.quotas_of("a-1"),
            (std::vector<NamespaceQuota>{{"more", key, 20'000, 9'216},
                                         {"more", "limits.huawei.com/Ascend910B4-memory", 5, 0},
                                         {"npus", key, 10'000, 9'216}}));
  EXPECT_TRUE(directory.quotas_of("b-1").empty());
  directory.put_pod("a-1/q", {{key, 3'072}});
  directory.remove_pod("a-1/p");
  directory.remove_pod("a-1/never-there");
  directory.remove_quota("a-1/more");
  EXPECT_EQ(directory.quotas_of("a-1"), (std::vector<NamespaceQuota>{{"npus", key, 10'000, 3'072}}));
  directory.remove_quota("a-1/npus");
  EXPECT_TRUE(directory.quotas_of("a-1").empty());
}

// Without this, Pods would be let in or refused by what is half read.
TEST(DirectoryStart, NobodyIsLetInBeforeAllIsKnown) {
  Directory directory;
  directory.put_tenant(tenant("rest", wire::LabelSelector{}));
  const auto chain = directory.tenant_of("a");
  ASSERT_FALSE(chain);
  EXPECT_EQ(chain.error().reason, "admission.not_ready");
  EXPECT_EQ(chain.error().code, Code::kUnavailable);
}

// Without this, metrics would miss the quotas of namespaces that are idle, or a process be called ready that
// refuses everybody.
TEST_F(DirectoryTest, TellsEveryQuotaAndWhetherItIsReady) {
  EXPECT_TRUE(directory.ready());
  EXPECT_FALSE(Directory().ready());
  EXPECT_TRUE(directory.all_quotas().empty());
  directory.put_quota("a-1/q", {{"limits.huawei.com/Ascend310P-memory", 10}});
  directory.put_quota("idle/q", {{"limits.huawei.com/Ascend310P-memory", 20}});
  directory.put_pod("a-1/p", {{"limits.huawei.com/Ascend310P-memory", 3}});
  const auto all = directory.all_quotas();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at("a-1"), directory.quotas_of("a-1"));
  EXPECT_EQ(all.at("a-1").front().used, 3);
  EXPECT_EQ(all.at("idle").front().hard, 20);
}

}  // namespace
}  // namespace tangram::kube::admission

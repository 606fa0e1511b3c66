#include "quota/tenant_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace tangram {
namespace {

TenantSpec spec(const std::string& name, const std::string& parent = {}, const Quota& quota = {}) {
  return {name, parent, quota};
}

Quota npus(std::int64_t limit) {
  Quota quota;
  quota.npus = limit;
  return quota;
}

// org (8) has a (4) and b; a has a1 (unlimited).
class Tree : public ::testing::Test {
 protected:
  Tree() {
    for (const TenantSpec& one :
         {spec("org", "", npus(8)), spec("a", "org", npus(4)), spec("b", "org"), spec("a1", "a")}) {
      tree.put(tree.next_id(), one);
    }
  }

  TenantTree tree;
  TenantId org{0}, a{1}, b{2}, a1{3};
};

// Without this, a slice would be free of charge in a dimension, or the policy about NPUs change another one.
TEST(SliceCharge, IsInEveryDimension) {
  for (const SliceCount count : {SliceCount::kOne, SliceCount::kNone}) {
    const Usage usage = to_usage(charge_of_slice(count, Bytes::gib(6), 2, 100));
    EXPECT_EQ(usage.npus, count == SliceCount::kOne ? 1 : 0);
    EXPECT_EQ(usage.memory_total, Bytes::gib(6));
    EXPECT_EQ(usage.ai_cores, 2);
    EXPECT_EQ(usage.running_jobs, 1);
    EXPECT_EQ(usage.bandwidth_bps, 100);
  }
}

// Without this, a job could be charged to its tenant but not to those above it.
TEST_F(Tree, ChargeGoesUpThePathAndComesBack) {
  tree.charge(a1, {3, 96, 60, 1, 5});
  EXPECT_EQ(tree.used(a1), (Amounts{3, 96, 60, 1, 5}));
  EXPECT_EQ(tree.used(a), (Amounts{3, 96, 60, 1, 5}));
  EXPECT_EQ(tree.used(org), (Amounts{3, 96, 60, 1, 5}));
  EXPECT_EQ(tree.used(b), Amounts{});
  tree.refund(a1, {3, 96, 60, 1, 5});
  EXPECT_EQ(tree.used(org), Amounts{});
}

// Without this, the limit of an ancestor would not bind, or the wrong tenant would be named.
TEST_F(Tree, TheBlockNearestToTheTenantIsNamed) {
  EXPECT_FALSE(tree.first_block(a1, {4, 0, 0, 1, 0}));
  tree.charge(b, {5, 0, 0, 1, 0});
  const std::optional<QuotaBlock> by_org = tree.first_block(a1, {4, 0, 0, 1, 0});
  ASSERT_TRUE(by_org);
  EXPECT_EQ(by_org->tenant, org);
  EXPECT_EQ(by_org->countable, Countable::kNpus);
  tree.charge(a1, {1, 0, 0, 1, 0});
  const std::optional<QuotaBlock> by_a = tree.first_block(a1, {4, 0, 0, 1, 0});
  ASSERT_TRUE(by_a);
  EXPECT_EQ(by_a->tenant, a);
}

// Without this, each dimension but the first could be ignored.
TEST_F(Tree, EveryDimensionBinds) {
  for (const Countable countable : kCountables) {
    const Quota quota = with_limit(Quota{}, dimension_of(countable), 10);
    TenantTree one;
    one.put(TenantId(0), spec("t", "", quota));
    Amounts amounts{};
    amounts[index_of(countable)] = 10;
    EXPECT_FALSE(one.first_block(TenantId(0), amounts));
    one.charge(TenantId(0), amounts);
    EXPECT_EQ(one.headroom(TenantId(0), countable), 0);
    Amounts more{};
    more[index_of(countable)] = 1;
    ASSERT_TRUE(one.first_block(TenantId(0), more));
    EXPECT_EQ(one.first_block(TenantId(0), more)->countable, countable);
  }
}

// Without this, lowering a limit below the use would block jobs that ask for nothing of it, or be impossible.
TEST_F(Tree, ALimitMayBeLoweredBelowTheUse) {
  tree.charge(a1, {4, 0, 0, 1, 50});
  Quota quota = npus(2);
  quota.bandwidth_bps = 10;
  tree.put(a, spec("a", "org", quota));
  EXPECT_EQ(tree.headroom(a, Countable::kNpus), -2);
  EXPECT_TRUE(tree.first_block(a1, {1, 0, 0, 1, 0}));
  tree.refund(a1, {3, 0, 0, 0, 0});
  EXPECT_FALSE(tree.first_block(a1, {1, 0, 0, 1, 0}))
      << "no bandwidth is asked, so its limit does not matter";
  EXPECT_TRUE(tree.first_block(a1, {1, 0, 0, 1, 1}));
}

// Without this, a time limit or a memory need could be taken from the wrong level.
TEST_F(Tree, TheEffectiveQuotaIsTheTightestOnThePath) {
  Quota quota = npus(6);
  quota.run_time_ms = 1000;
  quota.priorities.bits = 0b110;
  tree.put(a1, spec("a1", "a", quota));
  const Quota effective = tree.effective_quota(a1);
  EXPECT_EQ(effective.npus, 4);
  EXPECT_EQ(effective.run_time_ms, 1000);
  EXPECT_EQ(effective.priorities.bits, 0b110);
  EXPECT_TRUE(effective.memory_per_npu.is_unlimited());
}

// Without this, a deleted tenant's id could come to mean another tenant.
TEST_F(Tree, IdsAreNotUsedTwice) {
  tree.remove(a1);
  EXPECT_FALSE(tree.exists(a1));
  EXPECT_FALSE(tree.find("a1"));
  EXPECT_EQ(tree.next_id(), TenantId(4));
  tree.put(tree.next_id(), spec("a1", "b"));
  EXPECT_EQ(tree.find("a1"), TenantId(4));
  EXPECT_EQ(tree.parent(TenantId(4)), b);
  EXPECT_FALSE(tree.has_children(a));
}

// Without this, a damaged snapshot could bring a cycle into the tree, and a walk to the top would not end.
TEST(TreeRestore, RefusesWhatIsNoTree) {
  EXPECT_TRUE(TenantTree::restore({spec("a"), std::nullopt, spec("b", "a")}));
  EXPECT_FALSE(TenantTree::restore({spec("a", "b"), spec("b", "a")}));
  EXPECT_FALSE(TenantTree::restore({spec("a", "a")}));
  EXPECT_FALSE(TenantTree::restore({spec("a", "missing")}));
  EXPECT_FALSE(TenantTree::restore({spec("a"), spec("a")}));
}

// Without this, an unbalanced book would go unnoticed until a tenant's use is negative.
TEST(TreeDeath, ARefundWithoutAChargeIsABug) {
  TenantTree tree;
  tree.put(TenantId(0), spec("a"));
  EXPECT_DEATH(tree.refund(TenantId(0), {1, 0, 0, 0, 0}), "not negative");
}

}  // namespace
}  // namespace tangram

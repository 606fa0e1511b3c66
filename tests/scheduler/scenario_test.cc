// Whole stories, told with the numbers a user would see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/world.h"

namespace tangram::testing {
namespace {

using ::testing::ElementsAre;

Quota team_a() {
  Quota quota;
  quota.npus = 4;
  quota.memory_per_npu = Bytes::gib(32);
  quota.running_jobs = 4;
  return quota;
}

Quota team_b() {
  Quota quota;
  quota.npus = 2;
  quota.memory_per_npu = Bytes::gib(16);
  quota.running_jobs = 2;
  quota.priorities = PrioritySet{};
  quota.priorities.bits = 0;
  quota.priorities.insert(Priority::kNormal);
  quota.priorities.insert(Priority::kLow);
  return quota;
}

// Without this, the quota example that users know from the literature could come out with other NPUs or
// numbers.
TEST(Scenario, TwoTeamsWithQuotas) {
  World world;
  world.add_node();
  world.put_tenant("team-a", team_a());
  world.put_tenant("team-b", team_b());
  const JobId train = world.submit({.tenant = "team-a", .npus = 2, .priority = Priority::kHigh});
  const JobId infer = world.submit({.tenant = "team-b", .npus = 1, .memory = Bytes::gib(8)});
  EXPECT_THAT(world.physical_ids(train), ElementsAre(0U, 1U));
  EXPECT_THAT(world.physical_ids(infer), ElementsAre(2U));
  EXPECT_EQ(world.used("team-a").npus, 2);
  EXPECT_EQ(world.used("team-b").npus, 1);
  EXPECT_EQ(world.try_submit({.tenant = "team-b", .priority = Priority::kHigh}), "quota.priority.forbidden");
  EXPECT_EQ(world.try_submit({.tenant = "team-b", .memory = Bytes::gib(17)}),
            "quota.memory_per_npu.above_limit");
  EXPECT_EQ(world.try_submit({.tenant = "team-b", .npus = 3}), "quota.npus.above_limit");
  // The end of one job frees its own NPUs and no others of the tenant.
  const JobId second = world.submit({.tenant = "team-a", .npus = 2});
  EXPECT_THAT(world.physical_ids(second), ElementsAre(3U, 4U));
  world.end(second);
  EXPECT_THAT(world.physical_ids(train), ElementsAre(0U, 1U));
  EXPECT_EQ(world.used("team-a").npus, 2);
}

// Without this, one record that speaks of a thousand jobs would look as if it spoke of one.
TEST(Scenario, JobsThatWaitAlikeAreCounted) {
  World world;
  world.add_node();
  world.put_tenant("team-a");
  const JobId running = world.submit({.tenant = "team-a", .npus = 8});
  const JobId first = world.submit({.tenant = "team-a", .npus = 2});
  const JobId second = world.submit({.tenant = "team-a", .npus = 2});
  const JobId other = world.submit({.tenant = "team-a", .npus = 4});
  EXPECT_EQ(world.core.queued_alike(first), 2);
  EXPECT_EQ(world.core.queued_alike(second), 2);
  EXPECT_EQ(world.core.queued_alike(other), 1);
  EXPECT_EQ(world.core.queued_alike(running), 0);
  EXPECT_EQ(world.core.queued_alike(JobId(99)), 0);
  world.cancel(first);
  EXPECT_EQ(world.core.queued_alike(second), 1);
}

// Without this, a job that can afford one kind of NPU alone would be sent to mend a sick one, where those
// that are free are kept for somebody else and NPUs that it cannot afford are free besides.
TEST(Scenario, WhatIsKeptIsTheReasonThoughOthersAreFree) {
  World world;
  const NodeShape small{.name = "small", .npus = 4};
  world.add_node(small);
  world.set_health(small, 0, Health::kAlarm);
  world.put_tenant("rich");
  Quota quota;
  quota.memory_total = Bytes::gib(32);  // one of the small ones
  world.put_tenant("poor", quota);
  world.input(SettingsChanged{1'000});
  std::vector<JobId> holders;
  for (int i = 0; i < 3; ++i) holders.push_back(world.submit({.tenant = "rich"}));
  const JobId large = world.submit({.tenant = "rich", .npus = 3});
  world.add_node({.name = "large", .npus = 1, .chip = "910B3", .memory = Bytes::gib(64)});
  world.pass(1'001);
  const JobId waiting = world.submit({.tenant = "poor"});
  EXPECT_EQ(world.reason(waiting), ReasonCode::kNpusUnhealthy) << "were it healthy, the first would do";
  world.end(holders[0]);
  EXPECT_EQ(world.reason(waiting), ReasonCode::kNpusKept);
  const Result<Explanation> why = world.core.explain(waiting, world.now);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->blockers.front().reason, ReasonCode::kNpusKept);
  EXPECT_EQ(why->blockers.front().kept_for, large);
}

// Without this, a tenant's classes would not be the order of service.
TEST(Scenario, ThreeTenantsAreServedByClass) {
  World world;
  for (const char* tenant : {"a", "b", "c"}) world.put_tenant(tenant);
  const JobId preprocess = world.submit({.tenant = "c", .priority = Priority::kLow});
  const JobId train = world.submit({.tenant = "b"});
  const JobId infer = world.submit({.tenant = "a", .priority = Priority::kHigh});
  EXPECT_EQ(world.reason(infer), ReasonCode::kNoDevices);
  EXPECT_THAT(world.core.queue(), ElementsAre(infer, train, preprocess));
  world.add_node({.npus = 1});
  EXPECT_TRUE(world.is_running(infer));
  EXPECT_EQ(world.reason(train), ReasonCode::kNpusBusy);
  world.end(infer);
  EXPECT_TRUE(world.is_running(train));
  world.end(train);
  EXPECT_TRUE(world.is_running(preprocess));
}

// Without this, a job too large for the moment would hold up all others.
TEST(Scenario, WhoDoesNotFitBlocksNobody) {
  World world;
  world.add_node({.npus = 4});
  world.put_tenant("a");
  world.put_tenant("b");
  const JobId first = world.submit({.tenant = "a", .npus = 2});
  const JobId large = world.submit({.tenant = "a", .npus = 4, .priority = Priority::kHigh});
  const JobId small = world.submit({.tenant = "b", .npus = 1, .priority = Priority::kLow});
  EXPECT_TRUE(world.is_running(first));
  EXPECT_EQ(world.reason(large), ReasonCode::kNpusBusy);
  EXPECT_TRUE(world.is_running(small));
}

// Without this, a stream of small jobs could starve a large one for ever.
TEST(Scenario, NpusAreKeptForWhoWaitedPastTheBound) {
  World world;
  world.add_node({.npus = 4});
  world.put_tenant("a");
  world.put_tenant("b");
  world.input(SettingsChanged{60'000});
  const JobId first = world.submit({.tenant = "a", .npus = 2});
  const JobId second = world.submit({.tenant = "a", .npus = 2});
  const JobId large = world.submit({.tenant = "a", .npus = 4, .priority = Priority::kLow});
  EXPECT_EQ(world.core.next_wakeup(), TimeMs(world.now.value + 60'000));
  world.end(first);
  const JobId early = world.submit({.tenant = "b", .npus = 2, .priority = Priority::kHigh});
  EXPECT_TRUE(world.is_running(early)) << "before the bound, never blocked";
  world.pass(60'000);
  world.end(early);
  const JobId late = world.submit({.tenant = "b", .npus = 1, .priority = Priority::kHigh});
  EXPECT_EQ(world.reason(late), ReasonCode::kNpusKept);
  EXPECT_EQ(world.reason(large), ReasonCode::kNpusBusy);
  world.end(second);
  EXPECT_TRUE(world.is_running(large));
  EXPECT_FALSE(world.is_running(late));
  EXPECT_EQ(world.reason(late), ReasonCode::kNpusBusy) << "nobody is left for whom they would be kept";
  world.end(large);
  EXPECT_TRUE(world.is_running(late));
}

// Without this, NPUs that the waiting job cannot use would idle.
TEST(Scenario, OnlyNpusThatTheWaitingJobCouldUseAreKept) {
  World world;
  world.add_node({.name = "small", .npus = 2});
  world.add_node({.name = "large", .npus = 4});
  world.put_tenant("a");
  world.input(SettingsChanged{1000});
  const JobId holder = world.submit({.tenant = "a", .npus = 3});
  const JobId four = world.submit({.tenant = "a", .npus = 4});
  world.pass(1000);
  const JobId two = world.submit({.tenant = "a", .npus = 2});
  const JobId one = world.submit({.tenant = "a", .npus = 1});
  EXPECT_TRUE(world.is_running(holder));
  EXPECT_TRUE(world.is_running(two)) << "the small node can never hold four";
  EXPECT_EQ(world.core.node_name(world.core.npus()[world.status(two).npus[0].value].node), "small");
  EXPECT_EQ(world.reason(one), ReasonCode::kNpusKept) << "the last NPU of the large node is kept";
  world.end(holder);
  EXPECT_TRUE(world.is_running(four));
}

// Without this, a tenant's own small jobs could starve its large one for ever.
TEST(Scenario, QuotaIsKeptForWhoWaitedPastTheBound) {
  World world;
  world.add_node();
  Quota four;
  four.npus = 4;
  world.put_tenant("org", four);
  world.put_tenant("a", {}, "org");
  world.put_tenant("b", {}, "org");
  world.put_tenant("other");
  world.input(SettingsChanged{1000});
  const JobId first = world.submit({.tenant = "a", .npus = 2});
  const JobId second = world.submit({.tenant = "a", .npus = 1});
  const JobId large = world.submit({.tenant = "a", .npus = 4});
  EXPECT_EQ(world.reason(large), ReasonCode::kQuotaNpus);
  world.pass(1000);
  const JobId sibling = world.submit({.tenant = "b", .npus = 1, .priority = Priority::kHigh});
  EXPECT_EQ(world.reason(sibling), ReasonCode::kQuotaKept);
  const JobId stranger = world.submit({.tenant = "other", .npus = 1, .priority = Priority::kLow});
  EXPECT_TRUE(world.is_running(stranger)) << "NPUs are free and the quota is not theirs";
  world.end(first);
  world.end(second);
  EXPECT_TRUE(world.is_running(large));
  EXPECT_EQ(world.reason(sibling), ReasonCode::kQuotaNpus);
  world.end(large);
  EXPECT_TRUE(world.is_running(sibling));
}

// Without this, what is decided would depend on how many decisions are taken at once, and a replay could
// differ.
TEST(Scenario, ABatchMeansTheSameAsItsDecisionsOneByOne) {
  World world;
  world.add_node();
  Quota four;
  four.npus = 4;
  world.put_tenant("org", four);
  world.put_tenant("a", {}, "org");
  world.put_tenant("b", {}, "org");
  world.put_tenant("other");
  world.input(SettingsChanged{1000});
  world.submit({.tenant = "other", .npus = 5});
  world.submit({.tenant = "a", .npus = 1});
  const JobId keeper = world.submit({.tenant = "a", .npus = 4});
  world.pass(1000);
  const JobId medium = world.submit({.tenant = "b", .npus = 3, .priority = Priority::kHigh});
  const JobId small = world.submit({.tenant = "b", .npus = 1, .priority = Priority::kLow});
  ASSERT_EQ(world.reason(medium), ReasonCode::kQuotaKept);
  ASSERT_EQ(world.reason(small), ReasonCode::kQuotaKept);

  // Two NPUs are free: no room for `medium`, and the start of `small` leaves it no quota either.
  world.core.apply(Input(JobCancelled{keeper}), world.now);
  const JobSpec stranger = world.spec({.tenant = "other", .npus = 1, .priority = Priority::kLow});
  world.core.apply(Input(JobSubmitted{stranger}), world.now);
  const std::vector<Decision> batch = world.core.decide(world.now);
  for (const Decision& decision : batch) {
    const std::vector<Decision> next = world.core.decide(world.now, 1);
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next.front(), decision);
    world.core.apply(next.front(), world.now);
  }
  EXPECT_TRUE(world.is_running(small));
  EXPECT_TRUE(world.is_running(stranger.id));
  EXPECT_EQ(world.reason(medium), ReasonCode::kQuotaNpus);
}

// Without this, --no-wait would wait.
TEST(Scenario, NoWaitIsRefusedInsteadOfQueued) {
  World world;
  world.add_node({.npus = 1});
  world.put_tenant("a");
  const JobId first = world.submit({.tenant = "a", .no_wait = true});
  EXPECT_TRUE(world.is_running(first));
  world.take_decisions();
  const JobId second = world.submit({.tenant = "a", .no_wait = true});
  const std::vector<Decision> decisions = world.take_decisions();
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0], Decision(JobRefused{second, ReasonCode::kNpusBusy}));
  EXPECT_FALSE(world.core.job(second));
}

// Without this, a job could be put on a broken NPU, or the wait would be blamed on other jobs.
TEST(Scenario, UnhealthyNpusAreNotHandedOut) {
  World world;
  const NodeShape node{.npus = 2};
  world.add_node(node);
  world.put_tenant("a");
  world.set_health(node, 0, Health::kCritical);
  const JobId both = world.submit({.tenant = "a", .npus = 2});
  EXPECT_EQ(world.reason(both), ReasonCode::kNpusUnhealthy);
  const JobId one = world.submit({.tenant = "a", .npus = 1});
  EXPECT_THAT(world.physical_ids(one), ElementsAre(1U));
  world.end(one);
  world.set_health(node, 0, Health::kOk);
  EXPECT_TRUE(world.is_running(both));
  // A driver that is away takes nothing from running jobs, and gives nothing either.
  world.input(NodeReported{"node-0", {}});
  EXPECT_TRUE(world.is_running(both));
  const JobId later = world.submit({.tenant = "a", .npus = 1});
  EXPECT_EQ(world.reason(later), ReasonCode::kNoDevices);
  world.end(both, Outcome::kDeviceLost);
  EXPECT_EQ(world.used("a").npus, 0);
  world.add_node(node);
  EXPECT_TRUE(world.is_running(later));
}

// Without this, a job that became impossible would vanish, or wait with a reason that is not true.
TEST(Scenario, WhatBecomesImpossibleKeepsWaitingAndSaysSo) {
  World world;
  world.add_node({.npus = 2});
  world.put_tenant("a");
  const JobId running = world.submit({.tenant = "a", .npus = 2});
  const JobId waiting = world.submit({.tenant = "a", .npus = 2});
  EXPECT_EQ(world.reason(waiting), ReasonCode::kNpusBusy);
  Quota quota;
  quota.npus = 1;
  world.put_tenant("a", quota);
  EXPECT_TRUE(world.is_running(running)) << "a lower limit takes nothing back";
  world.end(running);
  EXPECT_EQ(world.reason(waiting), ReasonCode::kQuotaNpusNever);
  world.put_tenant("a");
  EXPECT_TRUE(world.is_running(waiting));
}

// Without this, a lost job would lose its place, or a failing one would be tried for ever.
TEST(Scenario, RestartedJobsKeepTheirPlace) {
  World world;
  world.add_node({.npus = 1});
  world.put_tenant("a");
  const JobId first = world.submit({.tenant = "a", .restart = RestartPolicy::kOnFailure, .restarts_max = 1});
  const JobId second = world.submit({.tenant = "a"});
  world.end(first, Outcome::kLost);
  EXPECT_EQ(world.status(first).attempt, 2);
  EXPECT_EQ(world.status(first).restarts, 1);
  world.end(first, Outcome::kFailed);
  EXPECT_EQ(world.status(first).attempt, 3);
  world.end(first, Outcome::kFailed);
  EXPECT_FALSE(world.core.job(first));
  EXPECT_TRUE(world.is_running(second));
}

// Without this, the journal would grow with every event even when no reason changes.
TEST(Scenario, AReasonIsRecordedWhenItChangesAndOnlyThen) {
  World world;
  world.add_node({.npus = 1});
  world.put_tenant("a");
  world.submit({.tenant = "a"});
  const JobId waiting = world.submit({.tenant = "a"});
  const std::vector<Decision> first = world.take_decisions();
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[1], Decision(JobWaits{waiting, ReasonCode::kNpusBusy}));
  const JobId behind = world.submit({.tenant = "a"});
  world.add_node({.npus = 1});
  world.pass(1000);
  EXPECT_TRUE(world.take_decisions().empty());
  EXPECT_EQ(world.reason(behind), ReasonCode::kNpusBusy) << "it waits like the one before it";
}

}  // namespace
}  // namespace tangram::testing

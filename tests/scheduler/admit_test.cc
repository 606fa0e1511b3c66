// admit: quota and order alone, where somebody else chooses the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cluster.h"

namespace tangram::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Quota npus(std::int64_t most) {
  Quota quota;
  quota.npus = most;
  return quota;
}

// Without this, a job would be charged only when it finds room, and a gate could be opened for more than the
// quota.
TEST(Admit, ChargesWhetherOrNotThereIsRoom) {
  Cluster cluster;
  cluster.add_node("a");
  cluster.put_tenant("team", npus(2));
  const JobId first = cluster.submit("team", {whole_part()});
  const JobId second = cluster.submit("team", {whole_part()});
  const JobId third = cluster.submit("team", {whole_part()});
  EXPECT_THAT(cluster.admit(), ElementsAre(first, second)) << "one NPU, a quota of two";
  EXPECT_EQ(cluster.used("team").npus, 2);
  EXPECT_EQ(cluster.used("team").memory_total, Bytes::mib(21'527) * 2);
  EXPECT_EQ(cluster.used("team").ai_cores, 16);
  EXPECT_EQ(cluster.used("team").running_jobs, 2);
  EXPECT_EQ(cluster.status(first).state, JobState::kWaiting);
  EXPECT_TRUE(cluster.status(first).admitted);
  EXPECT_FALSE(cluster.status(third).admitted);
  EXPECT_EQ(cluster.status(third).reason, ReasonCode::kQuotaNpus);
  EXPECT_THAT(cluster.core.unplaced(), ElementsAre(first, second));
}

// Without this, the order in which gates open would be that of arrival alone.
TEST(Admit, OrdersByClassThenNumber) {
  Cluster cluster;
  cluster.put_tenant("team", npus(2));
  const JobId low = cluster.submit("team", {slice_part(3072, 1)}, Priority::kLow);
  const JobId normal = cluster.submit("team", {slice_part(3072, 1)});
  const JobId high = cluster.submit("team", {slice_part(3072, 1)}, Priority::kHigh);
  EXPECT_THAT(cluster.admit(), ElementsAre(high, normal)) << "no node is known, and none is needed";
  EXPECT_EQ(cluster.status(low).reason, ReasonCode::kQuotaNpus);
  cluster.end(high);
  EXPECT_THAT(cluster.admit(), ElementsAre(low));
}

// Without this, the end of an admitted job would give back something else than was taken.
TEST(Admit, GivesBackWhatWasCharged) {
  Cluster cluster;
  cluster.add_node("a", 2);
  cluster.put_tenant("org");
  cluster.put_tenant("team", {}, "org");
  const JobId cancelled = cluster.submit("team", {slice_part(6144, 2), slice_part(3072, 1)});
  const JobId ended = cluster.submit("team", {whole_part(2)});
  const JobId placed = cluster.submit("team", {slice_part(12'288, 4)});
  cluster.admit();
  EXPECT_EQ(cluster.used("org").npus, 5) << "a slice counts as one";
  EXPECT_EQ(cluster.used("org").running_jobs, 3) << "a job of two parts is one job";
  EXPECT_EQ(cluster.used("org").ai_cores, 3 + 16 + 4);
  cluster.input(JobCancelled{cancelled});
  EXPECT_EQ(cluster.status(cancelled).state, JobState::kEnded);
  EXPECT_TRUE(cluster.place(placed, "a"));
  cluster.run(placed);
  cluster.set_health("a", 2, 0, Health::kCritical);
  cluster.end(placed);
  cluster.end(ended);
  EXPECT_EQ(cluster.used("org"), Usage{});
}

// Without this, an older large job could wait for ever behind its siblings, as it could not on one machine.
TEST(Admit, KeepsQuotaForWhoWaitedPastTheBound) {
  Cluster cluster;
  cluster.put_tenant("team", npus(2));
  const JobId small = cluster.submit("team", {whole_part()});
  cluster.admit();
  const JobId large = cluster.submit("team", {whole_part(2)});
  cluster.admit();
  cluster.now = TimeMs(cluster.now.value + 700'000);
  const JobId late = cluster.submit("team", {whole_part()}, Priority::kHigh);
  EXPECT_THAT(cluster.admit(), IsEmpty());
  EXPECT_EQ(cluster.status(late).reason, ReasonCode::kQuotaKept);
  cluster.end(small);
  EXPECT_THAT(cluster.admit(), ElementsAre(large));
}

// Without this, what can never be admitted would wait behind a gate instead of being refused.
TEST(Admit, RefusesWhatIsAboveAWholeLimit) {
  Cluster cluster;
  Quota quota = npus(2);
  quota.memory_per_npu = Bytes::mib(12'288);
  cluster.put_tenant("team", quota);
  EXPECT_EQ(cluster.try_submit("team", {slice_part(3072, 1), slice_part(3072, 1), slice_part(3072, 1)}),
            "quota.npus.above_limit");
  EXPECT_EQ(cluster.try_submit("team", {slice_part(3072, 1), whole_part()}),
            "quota.memory_per_npu.above_limit");
  EXPECT_EQ(cluster.try_submit("team", {slice_part(12'288, 4)}), "");
  EXPECT_EQ(cluster.try_submit("nobody", {slice_part(3072, 1)}), "tenant.unknown");
  EXPECT_EQ(cluster.try_submit("team", {}), "request.invalid");
  Part share = slice_part(3072, 1);
  share.kind = RequestKind::kShare;
  EXPECT_EQ(cluster.try_submit("team", {share}), "request.invalid");
}

// Without this, a limit lowered below the use would either take something away or let more in.
TEST(Admit, ALimitBelowTheUseLetsNobodyIn) {
  Cluster cluster;
  cluster.put_tenant("team", npus(3));
  const JobId first = cluster.submit("team", {whole_part(2)});
  cluster.admit();
  cluster.put_tenant("team", npus(1));
  const JobId next = cluster.submit("team", {whole_part()});
  EXPECT_THAT(cluster.admit(), IsEmpty());
  EXPECT_TRUE(cluster.status(first).admitted);
  EXPECT_EQ(cluster.used("team").npus, 2);
  cluster.end(first);
  EXPECT_THAT(cluster.admit(), ElementsAre(next));
}

// Without this, a job that may stand on several models would be charged too little for where it then stands.
TEST(Admit, ChargesTheMostThatAPlaceCanCost) {
  Cluster cluster;
  cluster.add_node("small");
  NodeReported large =
      World().node_report({.name = "large", .npus = 1, .chip = "910B4", .memory = Bytes::gib(32)});
  cluster.input(large);
  Quota quota;
  quota.memory_total = Bytes::gib(54);
  cluster.put_tenant("team", quota);
  Part any = whole_part(1, "");
  any.memory_per_npu = Bytes::gib(16);
  const JobId dear = cluster.submit("team", {any});
  cluster.admit();
  EXPECT_EQ(cluster.used("team").memory_total, Bytes::gib(32));
  const JobId cheap = cluster.submit("team", {any});
  EXPECT_THAT(cluster.admit(), ElementsAre(cheap)) << "the large one is too much, the small one is not";
  EXPECT_EQ(cluster.used("team").memory_total, Bytes::gib(32) + Bytes::mib(21'527));
  EXPECT_TRUE(cluster.place(dear, "small"));
  EXPECT_EQ(cluster.used("team").memory_total, Bytes::mib(21'527) * 2) << "what it got";
  const NodeFit fit = cluster.fit(cheap, "large");
  EXPECT_TRUE(fit.fits) << "the difference fits the quota by now";
  cluster.put_tenant("team", [] {
    Quota lower;
    lower.memory_total = Bytes::gib(43);
    return lower;
  }());
  EXPECT_EQ(cluster.fit(cheap, "large").reason, ReasonCode::kQuotaMemoryTotal);
  EXPECT_FALSE(cluster.place(cheap, "large"));
}

// Without this, `why` would blame the hardware for what a quota does, or offer what does not help.
TEST(Admit, WhyNamesTheLimitAndWhoHoldsIt) {
  Cluster cluster;
  cluster.add_node("a");
  cluster.put_tenant("team", npus(1));
  const JobId holder = cluster.submit("team", {whole_part()});
  cluster.admit();
  const JobId waits = cluster.submit("team", {whole_part()});
  cluster.admit();
  const Explanation why = *cluster.core.explain(waits, cluster.now);
  ASSERT_EQ(why.blockers.size(), 1U);
  EXPECT_EQ(why.blockers.front().reason, ReasonCode::kQuotaNpus);
  EXPECT_THAT(why.blockers.front().holders, ElementsAre(holder)) << "admitted is enough to hold";
  ASSERT_FALSE(why.remedies.empty());
  EXPECT_EQ(why.remedies.front().kind, Remedy::Kind::kJobsEnd);
  EXPECT_THAT(why.remedies.front().jobs, ElementsAre(holder));
}

// Without this, a machine's own daemon could admit without a place, or a cluster place without a node.
TEST(Admit, EachModeHasItsOwnSteps) {
  World world;
  world.add_node();
  world.put_tenant("team");
  EXPECT_THAT(world.core.admit(world.now), IsEmpty());
  EXPECT_FALSE(world.core.check(Step(PartsSubmitted{world.spec({.tenant = "team"}), {whole_part()}})));
  Cluster cluster;
  cluster.add_node("a");
  cluster.put_tenant("team");
  const JobId job = cluster.submit("team", {whole_part()});
  EXPECT_THAT(cluster.core.decide(cluster.now), IsEmpty());
  cluster.admit();
  EXPECT_FALSE(cluster.core.check(Input(SettingsChanged{})));
  EXPECT_FALSE(cluster.core.check(Input(AttemptRunning{job, 1}))) << "it runs nowhere";
}

}  // namespace
}  // namespace tangram::testing

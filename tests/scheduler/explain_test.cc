// The numbers and remedies that a user is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/world.h"

namespace tangram::testing {
namespace {

using ::testing::ElementsAre;

const Remedy* find(const Explanation& explanation, Remedy::Kind kind) {
  const auto at = std::find_if(explanation.remedies.begin(), explanation.remedies.end(),
                               [kind](const Remedy& remedy) { return remedy.kind == kind; });
  return at == explanation.remedies.end() ? nullptr : &*at;
}

// Without this, "why" could name the wrong limit, wrong numbers, or a remedy that does not help.
TEST(Explain, AQuotaWithItsNumbersAndWhatWouldHelp) {
  World world;
  world.add_node();
  Quota quota;
  quota.npus = 4;
  world.put_tenant("org", quota);
  world.put_tenant("team", {}, "org");
  const JobId slow = world.submit({.tenant = "team", .npus = 1, .time_limit_ms = 90'000});
  const JobId quick = world.submit({.tenant = "team", .npus = 2, .time_limit_ms = 60'000});
  const JobId waiting = world.submit({.tenant = "team", .npus = 3});
  const Explanation why = *world.core.explain(waiting, world.now);
  EXPECT_EQ(why.state, JobState::kWaiting);
  EXPECT_EQ(why.position, 1);
  EXPECT_EQ(why.queue_length, 1);
  ASSERT_EQ(why.blockers.size(), 1U);
  const Blocker& blocker = why.blockers[0];
  EXPECT_EQ(blocker.reason, ReasonCode::kQuotaNpus);
  EXPECT_EQ(blocker.tenant, *world.core.find_tenant("org"));
  EXPECT_EQ(blocker.dimension, Dimension::kNpus);
  EXPECT_EQ(blocker.asked, 3);
  EXPECT_EQ(blocker.used, 3);
  EXPECT_EQ(blocker.limit, 4);
  EXPECT_THAT(blocker.holders, ElementsAre(quick, slow)) << "first to end first";
  const Remedy* end = find(why, Remedy::Kind::kJobsEnd);
  ASSERT_NE(end, nullptr);
  EXPECT_THAT(end->jobs, ElementsAre(quick)) << "one job is enough";
  const Remedy* fewer = find(why, Remedy::Kind::kFewerNpus);
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->npus, 1);
  const Remedy* raise = find(why, Remedy::Kind::kRaiseQuota);
  ASSERT_NE(raise, nullptr);
  EXPECT_EQ(raise->limit, 6);
  EXPECT_EQ(why.estimated_start, TimeMs(world.now.value + 60'000));
}

// Without this, a user would not see that both a limit and the hardware are in the way.
TEST(Explain, EverythingInTheWayIsListed) {
  World world;
  world.add_node({.npus = 2});
  Quota quota;
  quota.npus = 2;
  quota.running_jobs = 1;
  world.put_tenant("team", quota);
  world.submit({.tenant = "team", .npus = 1});
  const JobId waiting = world.submit({.tenant = "team", .npus = 2});
  const Explanation why = *world.core.explain(waiting, world.now);
  std::vector<ReasonCode> reasons;
  reasons.reserve(why.blockers.size());
  for (const Blocker& blocker : why.blockers) reasons.push_back(blocker.reason);
  EXPECT_THAT(reasons,
              ElementsAre(ReasonCode::kQuotaNpus, ReasonCode::kQuotaRunningJobs, ReasonCode::kNpusBusy));
  EXPECT_EQ(why.blockers[2].limit, 2);
  EXPECT_EQ(why.blockers[2].free, 1);
  EXPECT_EQ(find(why, Remedy::Kind::kRaiseQuota), nullptr) << "raising one limit alone would change nothing";
  EXPECT_EQ(why.estimated_start, std::nullopt) << "the running job has no limit";
}

// Without this, a user would see free NPUs and not know for whom they are kept.
TEST(Explain, KeptNpusNameTheJobForWhomTheyAreKept) {
  World world;
  world.add_node({.npus = 4});
  world.put_tenant("a");
  world.input(SettingsChanged{1000});
  const JobId holder = world.submit({.tenant = "a", .npus = 2, .time_limit_ms = 5000});
  const JobId large = world.submit({.tenant = "a", .npus = 4});
  world.pass(1000);
  const JobId small = world.submit({.tenant = "a", .npus = 1, .priority = Priority::kHigh});
  const Explanation why = *world.core.explain(small, world.now);
  EXPECT_EQ(why.position, 2) << "after the one that waited past the bound";
  ASSERT_FALSE(why.blockers.empty());
  EXPECT_EQ(why.blockers[0].reason, ReasonCode::kNpusKept);
  EXPECT_EQ(why.blockers[0].kept_for, large);
  EXPECT_EQ(why.blockers[0].free, 2);
  EXPECT_EQ(find(why, Remedy::Kind::kJobsEnd), nullptr) << "the end of the holder starts the large one";
  const Explanation why_large = *world.core.explain(large, world.now);
  ASSERT_NE(find(why_large, Remedy::Kind::kJobsEnd), nullptr);
  EXPECT_THAT(find(why_large, Remedy::Kind::kJobsEnd)->jobs, ElementsAre(holder));
}

// Without this, less memory would never be proposed though it is all that is missing.
TEST(Explain, LessMemoryIsProposedWhenItHelps) {
  World world;
  world.add_node({.name = "large", .npus = 1, .chip = "910B3", .memory = Bytes::gib(64)});
  world.add_node({.name = "small", .npus = 1});
  world.put_tenant("a");
  world.submit({.tenant = "a", .memory = Bytes::gib(64)});
  const JobId waiting = world.submit({.tenant = "a", .memory = Bytes::gib(48)});
  const Explanation why = *world.core.explain(waiting, world.now);
  const Remedy* less = find(why, Remedy::Kind::kLessMemory);
  ASSERT_NE(less, nullptr);
  EXPECT_EQ(less->memory_per_npu, Bytes::gib(32));
}

// Without this, several jobs on one node would not be found to be what is in the way.
TEST(Explain, SeveralJobsWhoseEndIsNeeded) {
  World world;
  world.add_node({.npus = 4});
  world.put_tenant("a");
  for (int i = 0; i < 4; ++i) world.submit({.tenant = "a"});
  const JobId waiting = world.submit({.tenant = "a", .npus = 3});
  const Explanation why = *world.core.explain(waiting, world.now);
  const Remedy* end = find(why, Remedy::Kind::kJobsEnd);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->jobs.size(), 3U);
}

std::vector<JobId> to_end(const World& world, JobId waiting) {
  const Result<Explanation> why = world.core.explain(waiting, world.now);
  const Remedy* end = why ? find(*why, Remedy::Kind::kJobsEnd) : nullptr;
  return end == nullptr ? std::vector<JobId>() : end->jobs;
}

// Without this, an operator would be told to end the job that matters most, or has run for days, where
// another would do as well.
TEST(Explain, OfEquallyFewTheCheapestIsNamed) {
  World world;
  world.add_node({.npus = 4});
  world.put_tenant("a");
  const JobId high = world.submit({.tenant = "a", .priority = Priority::kHigh});
  const JobId old = world.submit({.tenant = "a"});
  world.pass(60'000);
  const JobId young = world.submit({.tenant = "a", .npus = 2});
  world.pass(1'000);
  const JobId waiting = world.submit({.tenant = "a"});
  EXPECT_THAT(to_end(world, waiting), ElementsAre(young))
      << "two NPUs for a second are less than one for a minute";
  world.pass(120'000);
  EXPECT_THAT(to_end(world, waiting), ElementsAre(old))
      << "two NPUs for two minutes are more than one for three";
  EXPECT_TRUE(world.is_running(high));
}

// Without this, a job of a low priority that has run for long would be spared, and one of a high one be
// named.
TEST(Explain, ALowPriorityComesBeforeTheWorkThatIsLost) {
  World world;
  world.add_node({.npus = 2});
  world.put_tenant("a");
  const JobId low = world.submit({.tenant = "a", .priority = Priority::kLow});
  world.pass(600'000);
  world.submit({.tenant = "a", .priority = Priority::kHigh});
  const JobId waiting = world.submit({.tenant = "a"});
  EXPECT_THAT(to_end(world, waiting), ElementsAre(low));
}

// Without this, the two largest would be named where a large and a small one free enough.
TEST(Explain, OfEquallyFewTogetherTheCheapestAreNamed) {
  World world;
  world.add_node({.npus = 6});
  world.put_tenant("a");
  world.submit({.tenant = "a", .npus = 2, .priority = Priority::kHigh});
  const JobId large = world.submit({.tenant = "a", .npus = 2});
  world.submit({.tenant = "a"});
  world.pass(60'000);
  const JobId young = world.submit({.tenant = "a"});
  const JobId waiting = world.submit({.tenant = "a", .npus = 3});
  EXPECT_THAT(to_end(world, waiting), ElementsAre(large, young));
}

// Without this, a tenant would be told to end its longest job for a place in its quota.
TEST(Explain, OfTheHoldersOfAQuotaTheCheapestAreNamed) {
  World world;
  world.add_node();
  Quota quota;
  quota.npus = 5;
  world.put_tenant("a", quota);
  world.submit({.tenant = "a", .npus = 2, .time_limit_ms = 90'000});
  const JobId small = world.submit({.tenant = "a", .time_limit_ms = 100'000});
  world.pass(60'000);
  const JobId young = world.submit({.tenant = "a", .npus = 2});
  const JobId one = world.submit({.tenant = "a"});
  EXPECT_THAT(to_end(world, one), ElementsAre(young)) << "it has just begun";
  world.cancel(one);
  const JobId three = world.submit({.tenant = "a", .npus = 3});
  EXPECT_THAT(to_end(world, three), ElementsAre(small, young));
}

// Without this, asking about a job that does not wait would crash or invent a reason.
TEST(Explain, JobsThatDoNotWait) {
  World world;
  world.add_node({.npus = 1});
  world.put_tenant("a");
  const JobId job = world.submit({.tenant = "a"});
  EXPECT_EQ(world.core.explain(job, world.now)->state, JobState::kStarting);
  EXPECT_TRUE(world.core.explain(job, world.now)->blockers.empty());
  EXPECT_EQ(world.core.explain(JobId(99), world.now).error().reason, "job.unknown");
}

}  // namespace
}  // namespace tangram::testing

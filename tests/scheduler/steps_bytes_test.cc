// Snapshots of a cluster: what they keep, and that nothing read from outside is believed.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "scheduler/cluster.h"

namespace tangram::testing {
namespace {

Cluster busy_cluster() {
  Cluster cluster;
  cluster.add_node("a", 2);
  cluster.add_node("b");
  Quota quota;
  quota.npus = 4;
  cluster.put_tenant("team", quota);
  const JobId placed = cluster.submit("team", {slice_part(3072, 1), slice_part(6144, 2)});
  cluster.submit("team", {whole_part()});
  cluster.admit();
  EXPECT_TRUE(cluster.place(placed, "a"));
  const std::vector<PartPlace> there = {{{cluster.npu("b", 0)}}};
  cluster.step(PartsObserved{cluster.spec("team"), {whole_part()}, 1, there, true});
  cluster.step(PartsObserved{cluster.spec("team"), {whole_part()}, 1, there, true});
  cluster.submit("team", {whole_part(2)}, Priority::kHigh);
  cluster.admit();
  return cluster;
}

// Without this, a copy of a cluster's state could go on from another one than it was made of.
TEST(StepsBytes, ReadBackEqual) {
  const Cluster cluster = busy_cluster();
  const std::string bytes = cluster.core.to_bytes();
  const Result<Scheduler> copy = Scheduler::from_bytes(bytes);
  ASSERT_TRUE(copy) << copy.error().to_string();
  EXPECT_EQ(copy->to_bytes(), bytes);
  EXPECT_EQ(copy->unplaced(), cluster.core.unplaced());
  for (const JobId job : cluster.core.active()) {
    EXPECT_EQ(copy->job(job)->places, cluster.core.job(job)->places);
    EXPECT_EQ(copy->job(job)->over_limit, cluster.core.job(job)->over_limit);
    EXPECT_EQ(copy->job(job)->parts, cluster.core.job(job)->parts);
  }
}

// Without this, a torn or damaged copy could trip an invariant.
TEST(StepsBytes, DamageIsRefusedOrHarmless) {
  const std::string bytes = busy_cluster().core.to_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(Scheduler::from_bytes(bytes.substr(0, size))) << size;
  }
  int accepted = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 0x40, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      Result<Scheduler> read = Scheduler::from_bytes(damaged);
      if (!read) continue;
      ++accepted;
      const TimeMs now(2'000'000);
      for (const Admission& admission : read->admit(now)) read->apply(admission, now);
      const std::array nodes = {NodeIndex(0), NodeIndex(1)};
      for (const JobId job : read->unplaced()) ASSERT_TRUE(read->place(job, nodes));
      for (const JobId job : read->active()) {
        ASSERT_TRUE(read->explain(job, now));
        read->apply(Input(AttemptEnded{job, read->job(job)->attempt, Outcome::kLost, false}), now);
      }
      ASSERT_FALSE(read->to_bytes().empty());
    }
  }
  EXPECT_GT(accepted, 0);
}

// Without this, the daemon of the version before could not read what it has no reason not to understand.
TEST(StepsBytes, AMachinesStateIsWrittenAsBefore) {
  World world;
  world.add_node();
  world.put_tenant("team");
  world.submit({.tenant = "team"});
  EXPECT_EQ(world.core.to_bytes()[6], 2);
  EXPECT_EQ(busy_cluster().core.to_bytes()[6], 3);
}

}  // namespace
}  // namespace tangram::testing

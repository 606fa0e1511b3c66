#include "placement/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NodeReported node(const std::string& name, std::uint32_t count, Bytes memory = Bytes::gib(32),
                  const std::string& chip = "910B4", std::int32_t cores = 20) {
  NodeReported reported;
  reported.node = name;
  for (std::uint32_t i = 0; i < count; ++i) reported.npus.push_back({i, chip, memory, cores, Health::kOk});
  return reported;
}

std::vector<NpuIndex> give(Fleet& fleet, std::uint64_t job, std::int32_t npus, Bytes memory = Bytes::gib(1)) {
  const std::optional<Place> place = fleet.choose(npus, fleet.first_kind_with(memory), {});
  if (!place) return {};
  std::vector<NpuIndex> picked = fleet.pick(*place, npus);
  fleet.take(JobId(job), picked, true);
  return picked;
}

std::vector<std::uint32_t> values(const std::vector<NpuIndex>& npus) {
  std::vector<std::uint32_t> values;
  values.reserve(npus.size());
  for (const NpuIndex npu : npus) values.push_back(npu.value);
  return values;
}

// Without this, small jobs would break up nodes that large ones need.
TEST(Fleet, TheFullestNodeThatStillFitsIsChosen) {
  Fleet fleet;
  fleet.report(node("a", 8));
  fleet.report(node("b", 8));
  EXPECT_THAT(values(give(fleet, 1, 2)), ElementsAre(0U, 1U)) << "the lowest node among equals";
  EXPECT_THAT(values(give(fleet, 2, 8)), ElementsAre(8U, 9U, 10U, 11U, 12U, 13U, 14U, 15U));
  EXPECT_THAT(values(give(fleet, 3, 1)), ElementsAre(2U));
  fleet.release(JobId(2), NpuIndex(8));
  EXPECT_THAT(values(give(fleet, 4, 4)), ElementsAre(3U, 4U, 5U, 6U)) << "five free fit better than eight";
  EXPECT_THAT(values(give(fleet, 5, 2)), ElementsAre(8U, 9U));
}

// Without this, a job of little memory would take an NPU that only another could use.
TEST(Fleet, TheLeastMemoryThatFitsIsChosen) {
  Fleet fleet;
  fleet.report(node("large", 2, Bytes::gib(64), "910B3"));
  fleet.report(node("small", 2, Bytes::gib(32)));
  EXPECT_THAT(values(give(fleet, 1, 1, Bytes::gib(16))), ElementsAre(2U));
  EXPECT_THAT(values(give(fleet, 2, 1, Bytes::gib(33))), ElementsAre(0U));
  EXPECT_THAT(values(give(fleet, 3, 2, Bytes::gib(16))), IsEmpty()) << "one of each kind is not two of one";
  EXPECT_THAT(values(give(fleet, 4, 1, Bytes::gib(65))), IsEmpty());
}

// Without this, NPUs of two chip models could end up in one job.
TEST(Fleet, OneJobGetsOneKind) {
  Fleet fleet;
  NodeReported mixed = node("mixed", 4);
  mixed.npus[1].chip = mixed.npus[3].chip = "910B3";
  fleet.report(mixed);
  EXPECT_EQ(fleet.kind_count(), 2U);
  EXPECT_THAT(values(give(fleet, 1, 2)), ElementsAre(1U, 3U)) << "910B3 comes before 910B4";
  EXPECT_THAT(values(give(fleet, 2, 2)), ElementsAre(0U, 2U));
  EXPECT_FALSE(fleet.exists(3, 0));
}

// Without this, a broken NPU could be handed out, or be lost for good once it is well again.
TEST(Fleet, HealthDecidesWhatIsHandedOut) {
  Fleet fleet;
  NodeReported report = node("a", 2);
  fleet.report(report);
  report.npus[0].health = Health::kWarning;
  EXPECT_EQ(fleet.report(report), FleetChange::kCounts);
  EXPECT_FALSE(fleet.choose(2, 0, {}));
  EXPECT_TRUE(fleet.exists(2, 0));
  EXPECT_FALSE(fleet.exists_healthy(2, 0));
  EXPECT_TRUE(fleet.fits_if_healthy(2, 0));
  EXPECT_THAT(values(give(fleet, 1, 1)), ElementsAre(1U));
  report.npus[0].health = Health::kOk;
  fleet.report(report);
  EXPECT_THAT(values(give(fleet, 2, 1)), ElementsAre(0U));
  EXPECT_EQ(fleet.report(report), FleetChange::kNothing);
}

// Without this, an NPU that vanishes under a job and comes back could be given to a second one.
TEST(Fleet, AHeldNpuThatVanishesAndReturnsIsStillHeld) {
  Fleet fleet;
  fleet.report(node("a", 2));
  give(fleet, 1, 2);
  EXPECT_EQ(fleet.report(NodeReported{"a", {}}), FleetChange::kKinds);
  EXPECT_EQ(fleet.present_count(), 0);
  EXPECT_EQ(fleet.npu(NpuIndex(0)).job, JobId(1));
  fleet.report(node("a", 2));
  EXPECT_FALSE(fleet.choose(1, 0, {}));
  fleet.release(JobId(1), NpuIndex(0));
  EXPECT_TRUE(fleet.choose(2, 0, {}));
  // And the other way round: freed while it is away.
  give(fleet, 2, 2);
  fleet.report(NodeReported{"a", {}});
  fleet.release(JobId(2), NpuIndex(0));
  fleet.report(node("a", 2));
  EXPECT_TRUE(fleet.choose(2, 0, {}));
}

// Without this, NPUs kept for one job would be given to another, or all of a kind be withheld.
TEST(Fleet, KeptPartsAreLeftOut) {
  Fleet fleet;
  fleet.report(node("small", 2));
  fleet.report(node("large", 4));
  const std::vector<std::int32_t> kept = {4};
  const PlacementFilter filter{kept, {}};
  EXPECT_FALSE(fleet.choose(3, 0, filter));
  ASSERT_TRUE(fleet.choose(2, 0, filter));
  EXPECT_EQ(fleet.choose(2, 0, filter)->node, NodeIndex(0));
  EXPECT_TRUE(fleet.is_kept(1, 0, filter));
  EXPECT_FALSE(fleet.is_kept(5, 0, filter));
  EXPECT_TRUE(fleet.fits(3, 0, {}));
  EXPECT_FALSE(fleet.fits(3, 0, filter));
}

// Without this, the index would forget nodes beyond the first 64, or choose among them in another order than
// a scan.
TEST(Fleet, AgreesWithAScanOnManyNodes) {
  Fleet fleet;
  for (int i = 0; i < 150; ++i) fleet.report(node("n" + std::to_string(i), 8));
  std::vector<int> free(150, 8);
  std::uint64_t seed = 7;
  for (std::uint64_t job = 1; job < 400; ++job) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto wanted = static_cast<std::int32_t>(1 + (seed >> 33) % 8);
    int best = -1;
    for (int i = 0; i < 150; ++i) {
      const bool fits = free[static_cast<std::size_t>(i)] >= wanted;
      if (fits && (best < 0 || free[static_cast<std::size_t>(i)] < free[static_cast<std::size_t>(best)]))
        best = i;
    }
    const std::vector<NpuIndex> given = give(fleet, job, wanted);
    ASSERT_EQ(given.empty(), best < 0);
    if (best < 0) continue;
    ASSERT_EQ(given.front().value / 8, static_cast<std::uint32_t>(best));
    free[static_cast<std::size_t>(best)] -= wanted;
  }
}

// Without this, two jobs could hold one NPU.
TEST(FleetDeath, AnNpuIsNeverGivenTwice) {
  Fleet fleet;
  fleet.report(node("a", 1));
  fleet.take(JobId(1), {NpuIndex(0)}, true);
  EXPECT_DEATH(fleet.take(JobId(2), {NpuIndex(0)}, true), "given twice");
  EXPECT_DEATH(fleet.release(JobId(2), NpuIndex(0)), "its own NPUs");
}

}  // namespace
}  // namespace tangram

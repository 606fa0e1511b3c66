// place and observe: where an admitted job goes, what nodes say, and what exists anyway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "scheduler/cluster.h"

namespace tangram::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::int64_t refusing(const NodeFit& fit, ReasonCode reason) {
  for (std::size_t i = 0; i < kNpuRefusals.size(); ++i) {
    if (kNpuRefusals[i] == reason) return fit.refusing[i];
  }
  return -1;
}

class Place : public ::testing::Test {
 protected:
  Place() {
    cluster.add_node("a");
    cluster.add_node("b", 2);
    cluster.put_tenant("team");
  }

  JobId admitted(std::vector<Part> parts) {
    const JobId job = cluster.submit("team", std::move(parts));
    cluster.admit();
    return job;
  }

  JobId placed(std::vector<Part> parts, const std::string& node) {
    const JobId job = admitted(std::move(parts));
    EXPECT_TRUE(cluster.place(job, node));
    return job;
  }

  Cluster cluster;
};

// Without this, a job could be bound that was never charged.
TEST_F(Place, RefusesWhoIsNotAdmitted) {
  const JobId waits = cluster.submit("team", {slice_part(3072, 1)});
  const std::array nodes = {cluster.node("a")};
  EXPECT_EQ(cluster.core.place(waits, nodes).error().reason, "job.not_admitted");
  EXPECT_EQ(cluster.core.choose_place(waits, nodes[0]).error().reason, "job.not_admitted");
  EXPECT_EQ(cluster.core.place(JobId(77), nodes).error().reason, "job.unknown");
  cluster.admit();
  EXPECT_TRUE(cluster.place(waits, "a"));
  EXPECT_EQ(cluster.core.place(waits, nodes).error().reason, "job.placed");
  EXPECT_FALSE(cluster.core.check(Step(JobPlaced{waits, 1, {{{NpuIndex(0)}}}}))) << "it has a place";
}

// Without this, the eighth slice, or whole and sliced use of one NPU, would be told wrongly.
TEST_F(Place, SaysWhatEachNpuHasAgainstIt) {
  for (int i = 0; i < 7; ++i) placed({slice_part(3072, 1)}, "a");
  const JobId eighth = admitted({slice_part(3072, 1)});
  NodeFit fit = cluster.fit(eighth, "a");
  EXPECT_FALSE(fit.fits);
  EXPECT_EQ(fit.reason, ReasonCode::kSlotsBusy);
  EXPECT_EQ(fit.npus, 1);
  EXPECT_EQ(refusing(fit, ReasonCode::kSlotsBusy), 1);
  EXPECT_TRUE(cluster.fit(eighth, "b").fits);
  const JobId whole = admitted({whole_part()});
  EXPECT_EQ(cluster.fit(whole, "a").reason, ReasonCode::kMemoryBusy);
  EXPECT_TRUE(cluster.place(whole, "b"));
  const JobId two = admitted({whole_part(2)});
  fit = cluster.fit(two, "b");
  EXPECT_EQ(fit.reason, ReasonCode::kNpusBusy);
  EXPECT_EQ(fit.npus, 2);
  EXPECT_EQ(refusing(fit, ReasonCode::kNpusBusy), 1) << "the other one is free";
  EXPECT_EQ(cluster.fit(two, "a").reason, ReasonCode::kNpusNever) << "it has one NPU in all";
  const JobId slice = admitted({slice_part(12'288, 4)});
  EXPECT_TRUE(cluster.fit(slice, "b").fits);
  cluster.set_health("b", 2, 1, Health::kCritical);
  fit = cluster.fit(slice, "b");
  EXPECT_EQ(fit.reason, ReasonCode::kMemoryBusy) << "slice on an NPU that is held whole: the nearest thing";
  EXPECT_EQ(refusing(fit, ReasonCode::kNpusUnhealthy), 1);
  cluster.lose_node("b");
  EXPECT_EQ(cluster.fit(slice, "b").reason, ReasonCode::kNoDevices);
  const JobId other = admitted({slice_part(3072, 1, "910B4")});
  EXPECT_EQ(cluster.fit(other, "a").reason, ReasonCode::kNpusNever) << "of another model";
  EXPECT_EQ(cluster.fit(other, "a").npus, 0);
}

// Without this, NPUs that a job must not use would be given to it, or the only ones it may use be ignored.
TEST_F(Place, UsesOnlyNpusOfTheChoice) {
  const JobId job = admitted({slice_part(3072, 1)});
  const std::array second = {cluster.npu("b", 1)};
  const std::array both = {cluster.npu("b", 0), cluster.npu("b", 1)};
  const NodeFit none = cluster.fit(job, "b", {{}, both});
  EXPECT_FALSE(none.fits);
  EXPECT_EQ(none.excluded, 2);
  EXPECT_EQ(none.reason, ReasonCode::kNpusNever);
  EXPECT_FALSE(cluster.fit(job, "a", {second, {}}).fits);
  EXPECT_TRUE(cluster.fit(job, "a", {{}, both}).fits) << "those are of another node";
  EXPECT_TRUE(cluster.place(job, "b", {second, {}}));
  EXPECT_EQ(cluster.places(job), "vir01@1.0");
}

// Without this, a reservation that is given up would stay taken, or its job lose the quota it was promised.
TEST_F(Place, ADroppedPlaceIsFreeAndTheJobStaysAdmitted) {
  const JobId job = placed({whole_part()}, "a");
  const Usage before = cluster.used("team");
  const JobId other = admitted({whole_part()});
  EXPECT_FALSE(cluster.fit(other, "a").fits);
  cluster.drop(job);
  EXPECT_EQ(cluster.status(job).state, JobState::kWaiting);
  EXPECT_TRUE(cluster.status(job).admitted);
  EXPECT_TRUE(cluster.fit(other, "a").fits);
  EXPECT_TRUE(cluster.place(other, "a"));
  EXPECT_FALSE(cluster.place(job, "a"));
  EXPECT_TRUE(cluster.place(job, "b"));
  cluster.run(job);
  EXPECT_FALSE(cluster.core.check(Step(PlaceDropped{job, 1}))) << "it runs";
  cluster.end(other);
  EXPECT_EQ(cluster.used("team"), before);
}

// Without this, containers of one Pod could not stand side by side on one NPU, or not share a node.
TEST_F(Place, PartsOfOneJobStandOnOneNode) {
  const JobId mixed = placed({slice_part(3072, 1), slice_part(12'288, 4), slice_part(6144, 2)}, "a");
  EXPECT_EQ(cluster.places(mixed), "vir01@0.2 vir04@0.0 vir02_1c@0.1")
      << "the largest is cut first, and the variant leaves room for the third";
  EXPECT_EQ(cluster.used("team").ai_cores, 7);
  EXPECT_EQ(cluster.status(mixed).npus, std::vector<NpuIndex>{cluster.npu("a", 0)});
  const JobId both = placed({slice_part(3072, 1), whole_part()}, "b");
  EXPECT_EQ(cluster.places(both), "vir01@1.0 whole@0");
  const JobId tight = admitted({slice_part(12'288, 4), slice_part(12'288, 4)});
  const NodeFit fit = cluster.fit(tight, "b");
  EXPECT_FALSE(fit.fits) << "one four-core slice beside vir01 is all that NPU 1 has";
  cluster.end(both);
  EXPECT_TRUE(cluster.place(tight, "b"));
  EXPECT_EQ(cluster.places(tight), "vir04@0.0 vir04_3c@0.1")
      << "the second takes the variant that the first leaves";
  cluster.end(tight);
  cluster.end(mixed);
  EXPECT_EQ(cluster.used("team"), Usage{});
  for (const NpuView& npu : cluster.core.npus()) EXPECT_EQ(npu.mode, NpuMode::kFree);
}

// Without this, nodes would be filled in the order of their names, and none be left whole.
TEST_F(Place, NodesInUseScoreHigher) {
  const JobId job = admitted({slice_part(3072, 1)});
  EXPECT_EQ(cluster.fit(job, "a").score, cluster.fit(job, "b").score);
  placed({slice_part(6144, 2)}, "b");
  EXPECT_GT(cluster.fit(job, "b").score, cluster.fit(job, "a").score);
  const JobId whole = admitted({whole_part()});
  EXPECT_GT(cluster.fit(whole, "b").score, cluster.fit(whole, "a").score);
  EXPECT_LE(cluster.fit(whole, "b").score, 100);
}

// Without this, freed room would be noticed by nobody until somebody asks.
TEST_F(Place, SaysWhoWouldFitNow) {
  const JobId first = placed({whole_part(2)}, "b");
  const JobId waits = admitted({whole_part(2)});
  const JobId small = admitted({slice_part(3072, 1)});
  EXPECT_THAT(cluster.core.with_room(10), ElementsAre(small)) << "on the other node";
  const Explanation why = *cluster.core.explain(waits, cluster.now);
  EXPECT_EQ(why.state, JobState::kWaiting);
  ASSERT_EQ(why.blockers.size(), 1U);
  EXPECT_EQ(why.blockers.front().reason, ReasonCode::kNpusBusy);
  cluster.end(first);
  EXPECT_THAT(cluster.core.with_room(10), ElementsAre(waits, small));
  EXPECT_THAT(cluster.core.with_room(1), ElementsAre(waits));
  EXPECT_THAT(cluster.core.explain(waits, cluster.now)->blockers, IsEmpty());
}

// Without this, a manager that begins anew would give away what runs already, or stop on what it finds.
TEST_F(Place, WhatExistsIsBookedAndMarked) {
  Quota quota;
  quota.npus = 1;
  cluster.put_tenant("small", quota);
  const Part part = slice_part(3072, 1);
  const SlicePlacement vir01{"vir01", 0, Bytes::gib(3), Bytes::mib(2690), 1};
  PartsObserved running{cluster.spec("small"), {part}, 1, {{{cluster.npu("a", 0)}, vir01}}, true};
  cluster.step(running);
  EXPECT_EQ(cluster.status(running.spec.id).state, JobState::kRunning);
  EXPECT_FALSE(cluster.status(running.spec.id).over_limit);
  PartsObserved open{cluster.spec("small"), {whole_part()}, 1, {}, false};
  cluster.step(open);
  EXPECT_EQ(cluster.status(open.spec.id).state, JobState::kWaiting)
      << "its gate is open, it is bound nowhere";
  EXPECT_TRUE(cluster.status(open.spec.id).over_limit);
  EXPECT_EQ(cluster.used("small").npus, 2) << "above its limit: it only falls";
  const JobId next = cluster.submit("small", {part});
  EXPECT_THAT(cluster.admit(), IsEmpty());
  EXPECT_TRUE(cluster.place(open.spec.id, "b"));
  cluster.end(open.spec.id);
  cluster.end(running.spec.id);
  EXPECT_THAT(cluster.admit(), ElementsAre(next));
  PartsObserved lost{cluster.spec("small"), {whole_part()}, 1, {PartPlace{}}, true};
  cluster.step(lost);
  EXPECT_EQ(cluster.used("small").npus, 2) << "charged, though nobody knows where it is";
  cluster.end(lost.spec.id);
}

// Without this, a Pod that another scheduler has bound would have two entries in the book, or none.
TEST_F(Place, AKnownJobIsObservedWhereItIs) {
  const JobId waits = cluster.submit("team", {whole_part()});
  const JobSpec spec = cluster.status(waits).spec;
  EXPECT_FALSE(cluster.core.check(Input(JobSubmitted{spec}))) << "its request is a handle of this core";
  cluster.step(PartsObserved{spec, {whole_part()}, 1, {{{cluster.npu("b", 1)}}}, true});
  EXPECT_EQ(cluster.places(waits), "whole@1");
  EXPECT_EQ(cluster.core.queue_length(), 0U);
  EXPECT_EQ(cluster.used("team").npus, 1);
  EXPECT_FALSE(cluster.core.check(Step(PartsObserved{spec, {whole_part()}, 1, {{{NpuIndex(0)}}}, true})));
  cluster.end(waits);
  EXPECT_EQ(cluster.used("team"), Usage{});
}

// Without this, of two that are found on one NPU the second would be forgotten, and the NPU be given to a
// third.
TEST_F(Place, TwoFoundOnOneNpuFollowEachOther) {
  const std::vector<PartPlace> there = {{{cluster.npu("a", 0)}}};
  const PartsObserved first{cluster.spec("team"), {whole_part()}, 1, there, true};
  const PartsObserved second{cluster.spec("team"), {whole_part()}, 1, there, true};
  cluster.step(first);
  cluster.step(second);
  EXPECT_EQ(cluster.used("team").npus, 2);
  EXPECT_EQ(cluster.core.npu(cluster.npu("a", 0))->job, first.spec.id);
  const JobId third = admitted({whole_part()});
  cluster.end(first.spec.id);
  EXPECT_EQ(cluster.core.npu(cluster.npu("a", 0))->job, second.spec.id);
  EXPECT_FALSE(cluster.fit(third, "a").fits);
  cluster.end(second.spec.id);
  EXPECT_TRUE(cluster.fit(third, "a").fits);
}

// Without this, a step that says what cannot be would end the process.
TEST_F(Place, ChecksStepsThatCannotBe) {
  const JobId job = admitted({slice_part(3072, 1), whole_part()});
  const SlicePlacement vir01{"vir01", 0, Bytes::gib(3), Bytes::mib(2690), 1};
  const SlicePlacement unknown{"vir99", 0, Bytes::gib(3), Bytes::mib(2690), 1};
  const NpuIndex a0 = cluster.npu("a", 0);
  const NpuIndex b0 = cluster.npu("b", 0);
  const NpuIndex b1 = cluster.npu("b", 1);
  const auto told = [&](std::vector<PartPlace> places, std::int32_t attempt = 1) {
    return cluster.core.check(Step(JobPlaced{job, attempt, std::move(places)})).has_value();
  };
  EXPECT_TRUE(told({{{b0}, vir01}, {{b1}}}));
  EXPECT_FALSE(told({{{b0}, vir01}, {{b1}}}, 2));
  EXPECT_FALSE(told({{{b0}, vir01}})) << "a place is missing";
  EXPECT_FALSE(told({{{b0}, vir01}, {{b0}}})) << "cut and whole";
  EXPECT_FALSE(told({{{b0}, vir01}, {{a0}}})) << "two nodes";
  EXPECT_FALSE(told({{{b0}, unknown}, {{b1}}}));
  EXPECT_FALSE(told({{{NpuIndex(9)}, vir01}, {{b1}}}));
  EXPECT_FALSE(told({{{}, vir01}, {{b1}}}));
  EXPECT_FALSE(told({{{b0}, vir01}, {{b0, b1}}}));
  cluster.set_health("b", 2, 1, Health::kWarning);
  EXPECT_FALSE(told({{{b0}, vir01}, {{b1}}})) << "not healthy";
  EXPECT_FALSE(cluster.core.check(Step(PlaceDropped{job, 1}))) << "it has no place";
  EXPECT_FALSE(cluster.core.check(
      Step(PartsObserved{cluster.spec("team"), {whole_part()}, 1, {{{b0}}, {{b1}}}, true})));
}

// Without this, an answer from memory could differ from one that was looked up.
TEST_F(Place, ACopyAnswersTheSame) {
  const JobId job = admitted({slice_part(6144, 2)});
  const std::array nodes = {cluster.node("a"), cluster.node("b"), NodeIndex(77)};
  const auto before = *cluster.core.place(job, nodes);
  EXPECT_EQ(before[2].reason, ReasonCode::kNoDevices);
  placed({whole_part()}, "a");
  const Scheduler copy = cluster.core;
  const auto after = *cluster.core.place(job, nodes);
  EXPECT_EQ(after, *copy.place(job, nodes));
  EXPECT_NE(after[0], before[0]);
  EXPECT_EQ(after[1], before[1]);
}

}  // namespace
}  // namespace tangram::testing

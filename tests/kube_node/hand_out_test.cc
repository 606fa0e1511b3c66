#include "kube/node/hand_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ports/device_slices.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = HandOutStep::Kind;
using State = Handed::State;

const NpuGround kGround{{{"A", 0}, {"B", 3}}, {}};

ContainerRef ref(const std::string& uid, const std::string& container = "main") {
  return {uid, "team-a", "pod-" + uid, container};
}

Grant slice(const std::string& name, const std::string& npu = "A") {
  return {true, name, {{npu, 0}}};
}

Grant whole(std::vector<NpuRef> npus) {
  return {false, "", std::move(npus)};
}

KubeletView holding(const ContainerRef& who, const ShareIds& ids) {
  return {{{who.space, who.pod, who.container, ids}}, {{{who.uid, who.container, ids}}}};
}

HandOutStep must(Result<HandOutStep> step) {
  EXPECT_TRUE(step) << (step ? "" : step.error().to_string());
  return step ? *step : HandOutStep();
}

// One container that has got its slice.
HandOut with_slice(const ContainerRef& who, const ShareIds& ids, const Grant& grant) {
  HandOut book;
  const HandOutStep step = must(book.begin(who, ids, &grant, kGround, {}));
  book.made(step.handed.slice_id);
  return book;
}

// Without it a container would start before its slice is there, or the slice be ordered twice.
TEST(HandOut, ASliceIsOrderedOnceAndReadyWhenItIsMade) {
  HandOut book;
  const Grant grant = slice("vir02", "B");
  const HandOutStep first = must(book.begin(ref("u1"), {"A-4"}, &grant, kGround, {}));
  EXPECT_EQ(first.kind, Kind::kMake);
  EXPECT_EQ(first.handed.template_name, "vir02");
  EXPECT_THAT(first.handed.npus, ElementsAre(3));  // the NPU of the grant, not of the ids
  EXPECT_TRUE(is_slice_id(3, first.handed.slice_id));
  EXPECT_EQ(must(book.begin(ref("u1"), {"A-4"}, &grant, kGround, {})).kind, Kind::kWait);
  book.made(first.handed.slice_id);
  EXPECT_EQ(must(book.begin(ref("u1"), {"A-4"}, &grant, kGround, {})).kind, Kind::kReady);
  EXPECT_THAT(book.entries(), SizeIs(1));
}

// Without it a slice would be cut in another vGroup than it was counted in, and the next one find no room.
TEST(HandOut, ASliceIsCutInTheVgroupThatItWasGiven) {
  HandOut book;
  Grant grant = slice("vir01");
  grant.vgroup = 3;
  EXPECT_EQ(must(book.begin(ref("u1"), {"A-0"}, &grant, kGround, {})).handed.vgroup, 3);
  const Grant any = slice("vir01");
  EXPECT_EQ(must(book.begin(ref("u2"), {"A-1"}, &any, kGround, {})).handed.vgroup, kNoVgroup);
}

// Without it two containers of one Pod on one NPU would both get the template of the last one.
TEST(HandOut, TwoContainersOfAPodHaveASliceEach) {
  HandOut book;
  const Grant small = slice("vir01");
  const Grant large = slice("vir04");
  const HandOutStep one = must(book.begin(ref("u1", "one"), {"A-0"}, &small, kGround, {}));
  const HandOutStep two = must(book.begin(ref("u1", "two"), {"A-1"}, &large, kGround, {}));
  EXPECT_EQ(one.handed.template_name, "vir01");
  EXPECT_EQ(two.handed.template_name, "vir04");
  EXPECT_NE(one.handed.slice_id, two.handed.slice_id);
}

// Without it an id would be ordered that somebody else's slice has.
TEST(HandOut, AnIdThatTheHardwareShowsIsNotTaken) {
  HandOut book;
  NpuGround ground = kGround;
  ground.slices = {100, 101};
  const Grant grant = slice("vir01");
  EXPECT_EQ(must(book.begin(ref("u1"), {"A-0"}, &grant, ground, {})).handed.slice_id, 102U);
  for (std::uint32_t id = 100; id < 116; ++id) ground.slices.insert(id);
  const auto full = book.begin(ref("u2"), {"A-1"}, &grant, ground, {});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason, "node.slice.no_id");
}

// Without it a Pod that came in past admission would be given an NPU.
TEST(HandOut, WhoWasGivenNothingGetsNothing) {
  HandOut book;
  const auto step = book.begin(ref("u1"), {"A-0"}, nullptr, kGround, {});
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().reason, "node.grant.missing");
  const Grant elsewhere = slice("vir01", "Z");
  EXPECT_EQ(book.begin(ref("u1"), {"A-0"}, &elsewhere, kGround, {}).error().reason, "node.npu.unknown");
  EXPECT_THAT(book.entries(), IsEmpty());
}

// Without it a whole NPU and a slice of it would be handed out together.
TEST(HandOut, WholeAndSlicesExcludeEachOther) {
  const Grant part = slice("vir01");
  const Grant all = whole({{"A", 0}});
  HandOut book = with_slice(ref("u1"), {"A-0"}, part);
  EXPECT_EQ(book.begin(ref("u2"), {"A-1"}, &all, kGround, {}).error().reason, "node.npu.taken");
  HandOut other;
  EXPECT_EQ(must(other.begin(ref("u2"), {"A-1"}, &all, kGround, {})).kind, Kind::kKeep);
  EXPECT_EQ(must(other.begin(ref("u2"), {"A-1"}, &all, kGround, {})).kind, Kind::kReady);
  EXPECT_EQ(other.begin(ref("u1"), {"A-0"}, &part, kGround, {}).error().reason, "node.npu.taken");
  EXPECT_EQ(other.begin(ref("u3"), {"A-2"}, &all, kGround, {}).error().reason, "node.npu.taken");
}

// Without it a whole NPU would be handed out that the driver will not open as one.
TEST(HandOut, AWholeNpuIsNotGivenWhileASliceOfNobodysStandsOnIt) {
  HandOut book;
  NpuGround ground = kGround;
  ground.slices = {105};
  const Grant all = whole({{"A", 0}});
  const Grant other = whole({{"B", 3}});
  EXPECT_EQ(book.begin(ref("u1"), {"A-1"}, &all, ground, {}).error().reason, "node.npu.taken");
  EXPECT_EQ(must(book.begin(ref("u1"), {"A-1"}, &other, ground, {})).kind, Kind::kKeep);
}

// Without it a slice of a template would stand in a place that is another's by then.
TEST(HandOut, APlaceIsEmptiedBeforeSomethingElseIsPutThere) {
  const Grant small = slice("vir01");
  const Grant large = slice("vir04");
  HandOut book = with_slice(ref("u1", "setup"), {"A-0"}, small);
  const HandOutStep step = must(book.begin(ref("u1", "main"), {"A-0"}, &large, kGround, {}));
  EXPECT_EQ(step.kind, Kind::kWait);
  EXPECT_THAT(step.end, ElementsAre(100));
  EXPECT_THAT(must(book.begin(ref("u1", "main"), {"A-0"}, &large, kGround, {})).end, IsEmpty());
  book.returned(100);
  EXPECT_EQ(must(book.begin(ref("u1", "main"), {"A-0"}, &large, kGround, {})).kind, Kind::kMake);
}

// Without it the slice of a Pod would be taken from it for another that the kubelet has not made room for.
TEST(HandOut, ShareIdsOfALivingPodAreNotGivenToAnother) {
  const Grant grant = slice("vir01");
  HandOut book = with_slice(ref("u1"), {"A-0"}, grant);
  const auto refused = book.begin(ref("u2"), {"A-0"}, &grant, kGround, holding(ref("u1"), {"A-0"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "node.npu.taken");
  // The kubelet has forgotten the first one.
  EXPECT_THAT(must(book.begin(ref("u2"), {"A-0"}, &grant, kGround, {})).end, ElementsAre(100));
}

// Without it a slice would be taken from its container for one that is then refused, and never be returned.
TEST(HandOut, NothingIsEndedForWhatIsRefused) {
  const Grant small = slice("vir01");
  const Grant all = whole({{"B", 3}});
  HandOut book = with_slice(ref("u1", "setup"), {"A-0"}, small);
  must(book.begin(ref("u2"), {"A-1"}, &all, kGround, {}));
  const Grant taken = slice("vir01", "B");
  EXPECT_EQ(book.begin(ref("u1", "main"), {"A-0"}, &taken, kGround, {}).error().reason, "node.npu.taken");
  EXPECT_EQ(book.entries()[0].state, State::kHeld);
}

// Without it a slice that looks idle would be taken from a Pod that sleeps.
TEST(HandOut, SweepEndsOnlyWhatNeitherServerShows) {
  const Grant grant = slice("vir01");
  const NodePod pod{"team-a", "pod-u1", "u1", false, {{"main", false, {}, grant}}, ""};
  HandOut book = with_slice(ref("u1"), {"A-0"}, grant);
  EXPECT_THAT(book.sweep({pod}, {}), IsEmpty());                        // the API server shows it
  EXPECT_THAT(book.sweep({}, holding(ref("u1"), {"A-0"})), IsEmpty());  // the kubelet counts it
  EXPECT_EQ(book.entries()[0].state, State::kHeld);
  EXPECT_THAT(book.sweep({}, {}), ElementsAre(100));
  EXPECT_EQ(book.entries()[0].state, State::kEnded);
  EXPECT_THAT(book.sweep({}, {}), IsEmpty());  // once
  book.returned(100);
  EXPECT_THAT(book.entries(), IsEmpty());
}

// Without it the slices of a finished Job would stand until its Pods are deleted.
TEST(HandOut, SweepEndsWhatAnEndedPodHas) {
  const Grant grant = slice("vir01");
  NodePod pod{"team-a", "pod-u1", "u1", true, {{"main", false, {}, grant}}, ""};
  HandOut book = with_slice(ref("u1"), {"A-0"}, grant);
  EXPECT_THAT(book.sweep({pod}, holding(ref("u1"), {"A-0"})), ElementsAre(100));
}

// Without it what a dead agent had ordered would be ordered again, or never returned.
TEST(HandOut, GoesOnWithTheEntriesOfTheOneBefore) {
  const Grant grant = slice("vir01");
  HandOut first;
  const HandOutStep step = must(first.begin(ref("u1"), {"A-0"}, &grant, kGround, {}));
  HandOut second(first.entries());
  EXPECT_EQ(must(second.begin(ref("u1"), {"A-0"}, &grant, kGround, {})).kind, Kind::kWait);
  second.made(step.handed.slice_id);
  EXPECT_EQ(must(second.begin(ref("u1"), {"A-0"}, &grant, kGround, {})).kind, Kind::kReady);
  EXPECT_TRUE(second.given(ref("u1"), {"A-0"}));
  EXPECT_FALSE(second.given(ref("u1"), {"A-1"}));
}

// Without it an order that was never kept would block its NPU.
TEST(HandOut, UndoTakesTheLastStepBack) {
  const Grant grant = slice("vir01");
  HandOut book;
  book.undo(must(book.begin(ref("u1"), {"A-0"}, &grant, kGround, {})).handed);
  EXPECT_THAT(book.entries(), IsEmpty());
}

// Without it an order that the driver refused would count as one under way for ever.
TEST(HandOut, WhatWasNotMadeIsOrderedAnewOnceItIsGone) {
  const Grant grant = slice("vir01");
  HandOut book;
  book.not_made(must(book.begin(ref("u1"), {"A-0"}, &grant, kGround, {})).handed.slice_id);
  EXPECT_EQ(must(book.begin(ref("u1"), {"A-0"}, &grant, kGround, {})).kind, Kind::kWait);
  book.returned(100);
  EXPECT_EQ(must(book.begin(ref("u1"), {"A-0"}, &grant, kGround, {})).kind, Kind::kMake);
}

}  // namespace
}  // namespace tangram::kube::node

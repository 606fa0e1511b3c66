// Where Pods go: the answers to the extender, reservations, nodes that come and go, and who is woken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PlaceTest : public ::testing::Test {
 protected:
  void begin(int npus, std::string_view quota = R"({})") {
    bench.put(tenant_with("team-a", quota));
    bench.put(node_with("n1", npus));
    bench.book.complete();
  }

  json::object admitted(const std::string& name, std::vector<ContainerGrant> grants = {vir01()}) {
    json::object pod = gated_pod({.name = name, .grants = std::move(grants)});
    bench.put(pod);
    EXPECT_THAT(bench.admit_all(), ElementsAre(name));
    return pod;
  }

  json::object placed(const std::string& name, std::vector<ContainerGrant> grants = {vir01()}) {
    json::object pod = admitted(name, std::move(grants));
    bench.place(pod, "n1");
    return pod;
  }

  Bench bench;
};

// Without this, users of HAMi would not find the words that they know, or preemption would try what cannot
// help.
TEST_F(PlaceTest, TheEighthSliceIsRefusedInTheWordsOfHami) {
  begin(1);
  for (int i = 0; i < 7; ++i) placed("p-" + std::to_string(i));
  const extender::Fit eighth = bench.fit(admitted("eighth"), "n1");
  EXPECT_FALSE(eighth.fits);
  EXPECT_EQ(eighth.reason, "CardTimeSlicingExhausted");
  EXPECT_THAT(eighth.message, HasSubstr("1 NPU of Ascend310P"));
  EXPECT_FALSE(eighth.unresolvable);
  const extender::Fit whole = bench.fit(admitted("whole", {whole_grant("main")}), "n1");
  EXPECT_EQ(whole.reason, "CardInsufficientMemory");
  EXPECT_EQ(bench.fit(admitted("two", {whole_grant("main", 2)}), "n1").reason, "NodeInsufficientDevice");
}

// Without this, a slice could be cut from an NPU that somebody has whole.
TEST_F(PlaceTest, ASliceIsRefusedOfAnNpuThatIsHeldWhole) {
  begin(1);
  placed("whole", {whole_grant("main")});
  EXPECT_EQ(bench.fit(admitted("slice"), "n1").reason, "CardInsufficientMemory");
}

// Without this, a node that the book does not know, or an NPU that is not well, would be given out.
TEST_F(PlaceTest, OnlyNpusThatAreWellAreGiven) {
  begin(1);
  const json::object pod = admitted("p");
  EXPECT_EQ(bench.fit(pod, "n2").reason, "NodeUnregistered");
  EXPECT_TRUE(bench.fit(pod, "n2").unresolvable);
  EXPECT_TRUE(bench.fit(pod, "n1").fits);

  json::object node = node_with("n1", 1);
  set_ready(node, false);
  bench.put(node);
  EXPECT_EQ(bench.fit(pod, "n1").reason, "CardNotHealth");
  set_ready(node, true);
  node["spec"].as_object()["unschedulable"] = true;
  bench.put(node);
  EXPECT_EQ(bench.fit(pod, "n1").reason, "CardNotHealth");
  bench.put(node_with("n1", 1));
  EXPECT_TRUE(bench.fit(pod, "n1").fits);
  bench.remove_node("n1");
  EXPECT_EQ(bench.fit(pod, "n1").reason, "NodeUnregistered");
}

// Without this, a Pod whose gate was taken away by force would be placed, or one that is not known.
TEST_F(PlaceTest, NobodyIsPlacedWhoWasNotAdmitted) {
  begin(1, R"({"npus":1})");
  const json::object first = admitted("first");
  json::object second = gated_pod({"second"});
  second["spec"].as_object().erase("schedulingGates");
  bench.put(second);
  const std::vector<std::string> nodes{"n1"};
  EXPECT_EQ(bench.book.filter(ref_of(second), nodes).error().reason, "kube.pod.not_admitted");
  EXPECT_EQ(bench.book.reserve(ref_of(second), "n1").error().reason, "kube.pod.not_admitted");
  EXPECT_EQ(bench.book.reserve({"team-a", "first", "another uid"}, "n1").error().reason, "kube.pod.unknown");
  EXPECT_EQ(bench.book.reserve({"team-a", "none", "u"}, "n1").error().code, Code::kNotFound);
  EXPECT_TRUE(bench.book.reserve(ref_of(first), "n1"));
}

// Without this, a call that is made twice would take two places, or leave the first behind.
TEST_F(PlaceTest, AReservationIsOne) {
  begin(1);
  bench.put(node_with("n2", 1));
  const json::object pod = admitted("p", {whole_grant("main")});
  const auto first = bench.book.reserve(ref_of(pod), "n1");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->chip_word, "Ascend310P");
  EXPECT_EQ(first->allocation.node, "n1");
  EXPECT_EQ(first->allocation.containers,
            (std::vector<ContainerAllocation>{{"main", GrantKind::kWhole, "", {{"n1-npu-0", 0}}, {}}}));
  EXPECT_EQ(bench.book.reserve(ref_of(pod), "n1")->allocation, first->allocation);
  const json::object other = admitted("other");
  EXPECT_EQ(bench.book.reserve(ref_of(other), "n1").error().code, Code::kNotNow);
  EXPECT_EQ(bench.book.reserve(ref_of(other), "n1").error().reason, "CardInsufficientMemory");
  ASSERT_TRUE(bench.book.reserve(ref_of(pod), "n2"));
  EXPECT_TRUE(bench.book.reserve(ref_of(other), "n1")) << "the old place is free";
  bench.book.drop(ref_of(pod));
  EXPECT_TRUE(bench.book.reserve(ref_of(admitted("third", {whole_grant("main")})), "n2"));
}

// Without this, a Pod that the scheduler drops without a word would hold its NPU for ever.
TEST_F(PlaceTest, AReservationEndsByItself) {
  begin(1);
  const json::object pod = admitted("p", {whole_grant("main")});
  ASSERT_TRUE(bench.book.reserve(ref_of(pod), "n1"));
  const json::object other = admitted("other");
  bench.timing.advance(seconds(59));
  bench.book.expire();
  EXPECT_FALSE(bench.fit(other, "n1").fits);
  bench.timing.advance(seconds(1));
  bench.book.expire();
  EXPECT_TRUE(bench.fit(other, "n1").fits);
  EXPECT_EQ(bench.book.counts().expired, 1U);
  EXPECT_EQ(bench.used_npus("team-a"), 2) << "it is admitted as before";
}

// Without this, the time-out of a reservation would take the NPU away from a Pod that runs.
TEST_F(PlaceTest, WhatIsBoundStays) {
  begin(1);
  json::object pod = placed("p", {whole_grant("main")});
  bench.timing.advance(seconds(600));
  bench.book.expire();
  bench.book.drop(ref_of(pod));
  EXPECT_FALSE(bench.fit(admitted("other"), "n1").fits);
  const auto again = bench.book.reserve(ref_of(pod), "n1");
  ASSERT_TRUE(again) << "a bind that is repeated";
  EXPECT_EQ(again->allocation.containers.front().npus.front().uuid, "n1-npu-0");
  EXPECT_EQ(bench.book.reserve(ref_of(pod), "n2").error().reason, "kube.pod.bound");
}

// Without this, a new leader would give away what the one before was about to bind.
TEST(Reservation, OfTheLeaderBeforeIsKeptForAWhile) {
  Bench bench;
  bench.put(tenant_with("team-a", "{}"));
  bench.put(node_with("n1", 1));
  json::object pod = gated_pod({.name = "p", .grants = {whole_grant("main")}});
  open_gate(pod);
  allocate(pod, {"n1", "", {{"main", GrantKind::kWhole, "", {{"n1-npu-0", 0}}, {}}}});
  bench.put(pod);
  bench.book.complete();
  const json::object other = gated_pod({"other"});
  bench.put(other);
  ASSERT_THAT(bench.admit_all(), SizeIs(1));
  EXPECT_FALSE(bench.fit(other, "n1").fits);
  bench.timing.advance(seconds(60));
  bench.book.expire();
  EXPECT_TRUE(bench.fit(other, "n1").fits);
  // What is left of it in the API says nothing any more.
  bench.put(pod);
  EXPECT_TRUE(bench.fit(other, "n1").fits);
}

// Without this, NPUs of Pods that run would be given away when their node comes back.
TEST_F(PlaceTest, ANodeThatVanishesTakesNothingFromItsPods) {
  begin(1);
  placed("p", {whole_grant("main")});
  const json::object other = admitted("other");
  bench.remove_node("n1");
  EXPECT_EQ(bench.used_npus("team-a"), 2);
  bench.put(node_with("n1", 1));
  EXPECT_FALSE(bench.fit(other, "n1").fits);
}

// Without this, a manager that starts while a node is away would take its NPUs for free when it comes.
TEST(Nodes, WhatIsHeldOnANodeThatComesLaterIsHeld) {
  Bench bench;
  bench.put(tenant_with("team-a", "{}"));
  json::object pod = gated_pod({.name = "p", .grants = {whole_grant("main")}});
  open_gate(pod);
  allocate(pod, {"n1", "", {{"main", GrantKind::kWhole, "", {{"n1-npu-1", 1}}, {}}}});
  bind_to(pod, "n1");
  bench.put(pod);
  bench.book.complete();
  EXPECT_EQ(bench.used_npus("team-a"), 1);
  bench.put(node_with("n1", 2));
  EXPECT_THAT(bench.book.describe(), HasSubstr("npu n1 0 free\nnpu n1 1 whole team-a/p\n"));
  EXPECT_EQ(bench.used_npus("team-a"), 1);
}

// Without this, a Pod's containers would not get each its own, or an init container one more than there is.
TEST_F(PlaceTest, EachContainerIsToldItsOwn) {
  begin(1);
  ContainerGrant init = slice_grant("init", "vir01", 3072);
  init.request.init = true;
  const json::object pod =
      admitted("p", {init, slice_grant("a", "vir02", 6144), slice_grant("b", "vir01", 3072)});
  const auto reserved = bench.book.reserve(ref_of(pod), "n1");
  ASSERT_TRUE(reserved) << reserved.error().to_string();
  const std::vector<ContainerAllocation>& containers = reserved->allocation.containers;
  ASSERT_THAT(containers, SizeIs(3));
  EXPECT_EQ(containers[0].container, "init");
  EXPECT_EQ(containers[1].template_name.substr(0, 5), "vir02");
  EXPECT_EQ(containers[2].template_name, "vir01");
  EXPECT_EQ(containers[0].template_name, "vir01") << "that of b, which begins when it has ended";
  EXPECT_EQ(containers[0].vgroup, containers[2].vgroup);
  EXPECT_NE(containers[1].vgroup, containers[2].vgroup);
  EXPECT_EQ(bench.used_npus("team-a"), 2);
}

// Without this, freed capacity would be used minutes later, or the scheduler be woken for nothing.
TEST_F(PlaceTest, WhoFoundNoRoomIsWokenWhenThereIsSome) {
  begin(1);
  json::object first = placed("first", {whole_grant("main")});
  const json::object second = admitted("second", {whole_grant("main")});
  const json::object third = admitted("third", {whole_grant("main")});
  EXPECT_FALSE(bench.fit(second, "n1").fits);
  EXPECT_FALSE(bench.fit(third, "n1").fits);
  EXPECT_THAT(bench.book.wakeable(10), IsEmpty()) << "nothing is free";

  end_with(first, "Succeeded");
  bench.put(first);
  EXPECT_THAT(bench.book.wakeable(1), ElementsAre(ref_of(second))) << "in order";
  EXPECT_THAT(bench.book.wakeable(10), ElementsAre(ref_of(third)));
  EXPECT_THAT(bench.book.wakeable(10), IsEmpty()) << "once";

  EXPECT_TRUE(bench.fit(second, "n1").fits);
  ASSERT_TRUE(bench.book.reserve(ref_of(second), "n1"));
  EXPECT_FALSE(bench.fit(third, "n1").fits);
  EXPECT_THAT(bench.book.wakeable(10), IsEmpty());
  bench.put(node_with("n2", 1));
  EXPECT_THAT(bench.book.wakeable(10), ElementsAre(ref_of(third))) << "a node has come";
  bench.book.not_woken(ref_of(third));
  EXPECT_THAT(bench.book.wakeable(10), ElementsAre(ref_of(third))) << "it was not reached";
}

}  // namespace
}  // namespace tangram::kube::manager

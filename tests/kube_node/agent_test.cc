#include "kube/node/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kube_node/agent_fixture.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Without it the node would show no NPUs, or another number than its users count on.
TEST_F(AgentTest, OffersSevenSharesOfEach310P3) {
  EXPECT_THAT(agent_->resources(), ElementsAre(kTestResource));
  const Offer now = offer();
  ASSERT_THAT(now.shares, SizeIs(14));
  EXPECT_EQ(now.shares[0].id, share(0, 0));
  EXPECT_TRUE(now.shares[13].healthy);
}

// Without it a container would start without its slice, or in another NPU's.
TEST_F(AgentTest, AContainerStartsInTheSliceThatItsPodWasGiven) {
  const NodePod pod = make_pod("one", {{"main", slice_of(1, "vir02")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "main", {share(0, 3)}));  // the kubelet has picked a share of the other NPU
  EXPECT_EQ(template_in(share(0, 3)), "vir02");
  ASSERT_THAT(agent_->entries(), SizeIs(1));
  EXPECT_THAT(agent_->entries()[0].npus, ElementsAre(1));
  EXPECT_TRUE(eventually([&] { return told("one").find("vir02") != std::string::npos; })) << told("one");
  // It starts again: the same slice.
  ASSERT_TRUE(agent_->pre_start({share(0, 3)}));
  EXPECT_THAT(devices_.slices(), SizeIs(1));
}

// Without it the answer to Allocate would depend on a Pod that the kubelet does not name.
TEST_F(AgentTest, AllocateAnswersAlikeForEveryPod) {
  const AllocateAnswer answer = agent_->allocate({share(0, 3)});
  ASSERT_THAT(answer.devices, SizeIs(2));
  EXPECT_EQ(answer.devices[0].container, "/dev/davinci_manager");
  EXPECT_EQ(answer.devices[1].host, place_.path("shares/" + share(0, 3)));
  EXPECT_EQ(answer.devices[1].container, "/dev");
  EXPECT_EQ(answer.environment.at("ASCEND_VISIBLE_DEVICES"), "void");
  EXPECT_FALSE(answer.environment.contains("ASCEND_VNPU_SPECS"));
}

// Without it two Pods that are bound at one moment get each other's template.
TEST_F(AgentTest, TwoPodsAtTheSameMomentHaveTheirOwn) {
  for (int round = 0; round < 20; ++round) {
    const NodePod small = make_pod("small" + std::to_string(round), {{"main", slice_of(0, "vir01")}});
    const NodePod large = make_pod("large" + std::to_string(round), {{"main", slice_of(0, "vir04")}});
    pods_.add(small);
    pods_.add(large);
    const std::string first = share(0, round % 2 == 0 ? 0 : 1);
    const std::string second = share(0, round % 2 == 0 ? 1 : 0);
    std::thread other([&] { EXPECT_TRUE(run(large, "main", {second})); });
    EXPECT_TRUE(run(small, "main", {first}));
    other.join();
    ASSERT_EQ(template_in(first), "vir01") << round;
    ASSERT_EQ(template_in(second), "vir04") << round;
    end(small);
    end(large);
  }
  EXPECT_TRUE(eventually([&] { return devices_.slices().empty(); }));
}

// Without it two containers of a Pod on one NPU both get the last one's template.
TEST_F(AgentTest, TwoContainersOfOnePodHaveTheirOwn) {
  const NodePod pod = make_pod("one", {{"a", slice_of(0, "vir01")}, {"b", slice_of(0, "vir04")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "b", {share(0, 0)}));
  ASSERT_TRUE(run(pod, "a", {share(0, 1)}));
  EXPECT_EQ(template_in(share(0, 0)), "vir04");
  EXPECT_EQ(template_in(share(0, 1)), "vir01");
}

// Without it a slice would stand beside a whole NPU, or a Pod without an allocation be given one.
TEST_F(AgentTest, WhatIsNotThePodsIsRefused) {
  const NodePod whole = make_pod("whole", {{"main", whole_of(0)}});
  const NodePod part = make_pod("part", {{"main", slice_of(0, "vir01")}});
  NodePod none = make_pod("none", {});
  none.containers.push_back({"main", false, {}, {}});
  for (const NodePod& pod : {whole, part, none}) pods_.add(pod);
  ASSERT_TRUE(run(whole, "main", {share(0, 0)}));
  EXPECT_THAT(nodes_of_share(place_, share(0, 0)), ElementsAre("davinci0"));
  EXPECT_EQ(run(part, "main", {share(0, 1)}).error().reason, "node.npu.taken");
  EXPECT_EQ(run(none, "main", {share(0, 2)}).error().reason, "node.grant.missing");
  EXPECT_EQ(agent_->pre_start({share(0, 5)}).error().reason, "node.pod.unknown");
  EXPECT_THAT(devices_.slices(), IsEmpty());
  end(whole);
  EXPECT_TRUE(eventually([&] { return agent_->pre_start({share(0, 1)}).has_value(); }));
  EXPECT_THAT(nodes_of_share(place_, share(0, 0)), IsEmpty());
}

// Without it slices of Pods that are gone would take the room of those that come.
TEST_F(AgentTest, TheSliceOfAPodThatIsGoneIsReturned) {
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir04")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "main", {share(0, 0)}));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // some sweeps: it only looks idle
  EXPECT_THAT(devices_.slices(), SizeIs(1));
  end(pod);
  EXPECT_TRUE(eventually([&] { return devices_.slices().empty() && agent_->entries().empty(); }));
  EXPECT_THAT(nodes_of_share(place_, share(0, 0)), IsEmpty());
}

// Without it an agent that dies between order and start would leave what nobody finds again.
TEST_F(AgentTest, ARestartGoesOnAndReturnsAtOnceWhatWasLeftBehind) {
  const NodePod stays = make_pod("stays", {{"main", slice_of(0, "vir01")}});
  const NodePod goes = make_pod("goes", {{"main", slice_of(0, "vir02")}});
  pods_.add(stays);
  pods_.add(goes);
  ASSERT_TRUE(run(stays, "main", {share(0, 0)}));
  ASSERT_TRUE(run(goes, "main", {share(0, 1)}));
  agent_.reset();
  end(goes);
  EXPECT_THAT(devices_.slices(), SizeIs(2));
  start();
  EXPECT_TRUE(eventually([&] { return devices_.slices().size() == 1; }));
  ASSERT_TRUE(agent_->pre_start({share(0, 0)}));
  EXPECT_EQ(template_in(share(0, 0)), "vir01");
}

// Without it an agent that starts before the API server answers would take all Pods for gone.
TEST_F(AgentTest, NothingIsReturnedWhileThePodsAreNotKnown) {
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir01")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "main", {share(0, 0)}));
  agent_.reset();
  kubelet_.forget(pod.uid);
  pods_.set_away(true);
  start();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_THAT(devices_.slices(), SizeIs(1));
}

// Without it a slice of somebody else would be taken from under him.
TEST_F(AgentTest, SlicesThatNobodyHereMadeAreNamedAndLeftAlone) {
  devices_.add_stray(0, 110, "vir02");
  EXPECT_TRUE(eventually([&] {
    agent_->look_now();
    const MachineFacts facts = agent_->facts();
    return facts.npus.size() == 2 && facts.npus[0].strays.size() == 1 && facts.npus[0].strays[0].id == 110;
  }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_THAT(devices_.slices(), SizeIs(1));
}

// Without it an operator who lets such slices be reclaimed would lose those of idle Pods with the ledger.
TEST_F(AgentTest, ALostLedgerMakesNoSliceOfAPodNobodys) {
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir01")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "main", {share(0, 0)}));
  agent_.reset();
  std::filesystem::remove(place_.path("state/slices.json"));
  reclaim_ = true;
  start();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_THAT(devices_.slices(), SizeIs(1));
  // With all holders known, what nobody made is returned.
  agent_.reset();
  end(pod);
  start();
  EXPECT_TRUE(eventually([&] {
    agent_->look_now();
    return devices_.slices().empty();
  }));
}

// Without it the kubelet would wait half a minute for what the driver has refused at once, or what was
// refused would never be tried again.
TEST_F(AgentTest, ARefusalOfTheDriverIsToldAndTheNextTryIsANewOne) {
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir01")}});
  pods_.add(pod);
  devices_.refuse_next(1);
  const Result<void> refused = run(pod, "main", {share(0, 0)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "device.slice.invalid");
  EXPECT_TRUE(eventually([&] { return agent_->pre_start({share(0, 0)}).has_value(); }));
  EXPECT_EQ(template_in(share(0, 0)), "vir01");
}

// Without it Pods would be sent to an NPU that is ill, or one that is well again stay unused until a restart.
TEST_F(AgentTest, HealthComesAndGoesWithTheDriver) {
  const auto healthy = [this](std::size_t at) { return offer().shares.at(at).healthy; };
  devices_.set_health(1, Health::kAlarm);
  EXPECT_TRUE(eventually([&] { return !healthy(7); }));
  EXPECT_TRUE(healthy(0));
  devices_.set_health(1, Health::kOk);
  EXPECT_TRUE(eventually([&] { return healthy(7); }));
  devices_.set_away(true);
  EXPECT_TRUE(eventually([&] { return !healthy(0) && !healthy(7); }));
  EXPECT_THAT(offer().shares, SizeIs(14));
  devices_.set_away(false);
  EXPECT_TRUE(eventually([&] { return healthy(0); }));
}

// Without it the kubelet would show shares of another NPU for a Pod that comes alone.
TEST_F(AgentTest, PreferredAreSharesOfTheNpuThatThePodWasGiven) {
  const NodePod pod = make_pod("one", {{"main", slice_of(1, "vir01")}});
  pods_.add(pod);
  EXPECT_THAT(agent_->prefer({share(0, 0), share(0, 1), share(1, 0)}, {}, 1), ElementsAre(share(1, 0)));
  ASSERT_TRUE(run(pod, "main", {share(1, 0)}));
  EXPECT_THAT(agent_->prefer({share(0, 0), share(1, 1), share(1, 2)}, {}, 1), ElementsAre(share(0, 0)));
}

}  // namespace
}  // namespace tangram::kube::node

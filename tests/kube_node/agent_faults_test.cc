// What the agent does when something is lost: its ledger, a slice, a look, the kubelet's question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "kube_node/agent_fixture.h"

namespace tangram::kube::node {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AgentFaultsTest : public AgentTest {
 protected:
  void damage_ledger() { std::ofstream(place_.path("state/slices.json")) << R"({"version": 1, "entr)"; }
  void restart() {
    agent_.reset();
    start();
  }
};

// Without it an agent with a damaged ledger would not start, or take the slices of running Pods for nobody's
// and give their Pods new ones beside them.
TEST_F(AgentFaultsTest, ADamagedLedgerIsMadeAnewFromWhatIsThere) {
  const NodePod part = make_pod("part", {{"main", slice_of(0, "vir02")}});
  const NodePod whole = make_pod("whole", {{"main", whole_of(1)}});
  const NodePod waits = make_pod("waits", {{"main", slice_of(0, "vir01")}});
  for (const NodePod& pod : {part, whole, waits}) pods_.add(pod);
  ASSERT_TRUE(run(part, "main", {share(0, 2)}));
  ASSERT_TRUE(run(whole, "main", {share(1, 0)}));
  kubelet_.give(waits, "main", {share(0, 3)});  // it was never started
  const std::vector<Handed> before = agent_->entries();
  agent_.reset();
  damage_ledger();
  reclaim_ = true;
  start();
  EXPECT_THAT(agent_->entries(), testing::UnorderedElementsAreArray(before));
  EXPECT_THAT(agent_->facts().conditions, Contains(HasSubstr("ledger was damaged")));
  EXPECT_TRUE(std::filesystem::exists(place_.path("state/slices.json.damaged")));
  // The container starts again: in its own slice.
  ASSERT_TRUE(agent_->pre_start({share(0, 2)}));
  EXPECT_THAT(devices_.slices(), SizeIs(1));
  EXPECT_EQ(template_in(share(0, 2)), "vir02");
  // And what its Pod leaves is returned.
  end(part);
  EXPECT_TRUE(eventually([&] { return devices_.slices().empty(); }));
  // The next start finds a good one.
  restart();
  EXPECT_THAT(agent_->facts().conditions, IsEmpty());
  EXPECT_TRUE(eventually([&] { return agent_->entries().size() == 1; }));
}

// Without it a slice of which nobody can tell whose it is would be taken from a Pod that sleeps.
TEST_F(AgentFaultsTest, WhatIsNotClearAfterADamageStaysAsItIs) {
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir02")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "main", {share(0, 2)}));
  agent_.reset();
  damage_ledger();
  std::filesystem::remove_all(place_.path("shares/" + share(0, 2)));
  reclaim_ = true;
  start();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_THAT(devices_.slices(), SizeIs(1));
  EXPECT_TRUE(eventually([&] {
    agent_->look_now();
    return !agent_->facts().npus.at(0).strays.empty();
  }));
}

// Without it the agent would begin with an empty ledger because the kubelet starts a moment later than it
// does.
TEST_F(AgentFaultsTest, ADamagedLedgerIsNotMadeAnewWithHalfOfWhatIsToKnow) {
  agent_.reset();
  damage_ledger();
  pods_.set_away(true);
  agent_ = std::make_unique<Agent>(test_options(place_), devices_, pods_, kubelet_, AgentSink());
  EXPECT_FALSE(agent_->start());
  EXPECT_TRUE(std::filesystem::exists(place_.path("state/slices.json")));
  pods_.set_away(false);
  restart();
}

// Without it one look in which the driver shows a slice too few would take that from a container that runs.
TEST_F(AgentFaultsTest, ASliceThatALookDoesNotShowStaysItsHolders) {
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir02")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "main", {share(0, 0)}));
  const std::uint32_t slice = agent_->entries().at(0).slice_id;
  devices_.hide(slice, 4);
  const auto lost = [&] { return told("one").find("\"lost\":true") != std::string::npos; };
  EXPECT_TRUE(eventually(lost)) << told("one");
  EXPECT_TRUE(eventually([&] { return !lost(); })) << told("one");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_THAT(devices_.slices(), Contains(testing::Pair(slice, "vir02")));
  ASSERT_TRUE(agent_->pre_start({share(0, 0)}));
  EXPECT_EQ(agent_->entries().at(0).slice_id, slice);
  EXPECT_EQ(template_in(share(0, 0)), "vir02");
}

// Without it a container whose slice is gone would never get another one.
TEST_F(AgentFaultsTest, AContainerWhoseSliceIsGoneGetsAnotherWhenItStartsAgain) {
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir02")}});
  pods_.add(pod);
  ASSERT_TRUE(run(pod, "main", {share(0, 0)}));
  devices_.lose(agent_->entries().at(0).slice_id);
  EXPECT_TRUE(eventually([&] { return told("one").find("lost") != std::string::npos; })) << told("one");
  EXPECT_TRUE(eventually([&] { return agent_->pre_start({share(0, 0)}).has_value(); }));
  EXPECT_EQ(template_in(share(0, 0)), "vir02");
  EXPECT_THAT(devices_.slices(), SizeIs(1));
  EXPECT_TRUE(eventually([&] { return told("one").find("lost") == std::string::npos; })) << told("one");
}

// Without it a kubelet that has just started, and does not ask, would start a container on what another had.
TEST_F(AgentFaultsTest, NothingStandsInThePlacesOfWhoHasEnded) {
  const NodePod whole = make_pod("whole", {{"main", whole_of(0)}});
  pods_.add(whole);
  kubelet_.give(whole, "main", {share(0, 0), share(0, 1)});
  ASSERT_TRUE(agent_->pre_start({share(0, 0), share(0, 1)}));
  EXPECT_THAT(nodes_of_share(place_, share(0, 0)), ElementsAre("davinci0"));
  end(whole);
  EXPECT_TRUE(eventually([&] { return agent_->entries().empty(); }));
  EXPECT_FALSE(std::filesystem::exists(place_.path("shares/" + share(0, 0))));
  EXPECT_FALSE(std::filesystem::exists(place_.path("shares/" + share(0, 1))));
}

// Without it an NPU that an operator keeps for himself would be offered, or his slices on it be returned.
TEST_F(AgentFaultsTest, AnExcludedNpuIsLeftAlone) {
  reclaim_ = true;
  restart();
  FactRules rules = builtin_rules();
  rules.excluded = {1};
  agent_->set_rules(rules);
  EXPECT_TRUE(eventually([&] { return offer().shares.size() == 7; }));
  devices_.add_stray(1, 116, "vir02");
  devices_.add_stray(0, 100, "vir02");
  EXPECT_TRUE(eventually([&] {
    agent_->look_now();
    return devices_.slices().size() == 1;
  }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_THAT(devices_.slices(), ElementsAre(testing::Pair(116, "vir02")));
  agent_->set_rules(builtin_rules());
  EXPECT_TRUE(eventually([&] { return offer().shares.size() == 14; }));
}

// HAMi's plugin says "success" after the first container. Without it whoever waits for that (HAMi's own tools
// do) would go on before the Pod has all that it was given.
TEST_F(AgentFaultsTest, HamisBindPhaseIsSuccessOnlyWhenAllContainersHaveTheirs) {
  NodePod pod = make_pod("one", {{"a", slice_of(0, "vir01")}, {"b", slice_of(0, "vir02")}});
  pod.bind_phase = "allocating";
  NodePod other =
      make_pod("other", {{"main", slice_of(1, "vir01")}});  // its scheduler knows nothing of HAMi's
  pods_.add(pod);
  pods_.add(other);
  ASSERT_TRUE(run(pod, "a", {share(0, 0)}));
  EXPECT_TRUE(eventually([&] { return told("one").find("vir01") != std::string::npos; }));
  EXPECT_EQ(bind_phase("one"), "");
  ASSERT_TRUE(run(pod, "b", {share(0, 1)}));
  EXPECT_TRUE(eventually([&] { return bind_phase("one") == "success"; }));
  ASSERT_TRUE(run(other, "main", {share(1, 0)}));
  EXPECT_TRUE(eventually([&] { return told("other").find("vir01") != std::string::npos; }));
  EXPECT_EQ(bind_phase("other"), "");
}

// Without it a scheduler of HAMi's would take a node for dead whose NPUs have not changed for a while.
TEST_F(AgentFaultsTest, WhoAsksForAReportGetsOne) {
  EXPECT_TRUE(eventually([&] { return facts_told() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(facts_told(), 1);
  agent_->tell_again();
  EXPECT_TRUE(eventually([&] { return facts_told() == 2; }));
}

}  // namespace
}  // namespace tangram::kube::node

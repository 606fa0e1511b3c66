#include "kube/manager/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/protocol/names.h"
#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

using ::testing::HasSubstr;

// Without this, what a Pod is charged for would not be what admission has granted.
TEST(PodFacts, AreWhatAdmissionWrote) {
  ContainerGrant side = whole_grant("side", 2);
  side.request.init = true;
  side.request.sidecar = true;
  json::object pod = gated_pod({.name = "p", .grants = {vir01(), side}, .priority = "high"});
  json::object& annotations = pod["metadata"].as_object()["annotations"].as_object();
  annotations["tangram.dev/bandwidth"] = "10Gbps";
  annotations["tangram.dev/requested"] =
      R"([{"container":"side","init":true,"sidecar":true,"resource":"huawei.com/Ascend310P","count":2,"memoryMiB":13000}])";
  pod["spec"].as_object()["activeDeadlineSeconds"] = 90;
  const auto facts = read_pod_facts(pod);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->ref, (extender::PodRef{"team-a", "p", "uid-p"}));
  EXPECT_EQ(facts->tenant, "team-a");
  EXPECT_EQ(facts->priority, Priority::kHigh);
  EXPECT_EQ(facts->bandwidth_bps, 10'000'000'000);
  EXPECT_EQ(facts->time_limit_ms, 90'000);
  EXPECT_EQ(facts->gate, 0U);
  EXPECT_FALSE(facts->open());
  EXPECT_EQ(facts->problem, "");
  const ContainerNeed slice{"main", "Ascend310P", false, false, true, "vir01", 1, 3072, 0};
  const ContainerNeed whole{"side", "Ascend310P", true, true, false, "", 2, 21'527, 13'000};
  EXPECT_EQ(facts->needs, (std::vector<ContainerNeed>{slice, whole}));
  EXPECT_EQ(facts->created_ms, milliseconds_of(text_at(pod, {"metadata", "creationTimestamp"})));
  EXPECT_EQ(milliseconds_of("2026-03-01T12:00:00Z"), 1'772'366'400'000);
}

// Without this, a Pod that bears no label of admission's would be counted, or a spoilt one hidden.
TEST(PodFacts, OfOthersThereAreNone) {
  json::object pod = gated_pod({"p"});
  pod["metadata"].as_object()["labels"].as_object().erase("tangram.dev/managed");
  EXPECT_FALSE(read_pod_facts(pod));
  json::object spoilt = gated_pod({"q"});
  spoilt["metadata"].as_object()["annotations"].as_object()["tangram.dev/granted"] = "[1]";
  EXPECT_THAT(read_pod_facts(spoilt)->problem, HasSubstr("tangram.dev/granted"));
}

// Without this, a Pod would be taken for open that waits for another gate alone, or for closed that is open.
TEST(PodFacts, OnlyOurGateCounts) {
  json::object pod = gated_pod({"p"});
  json::array& gates = pod["spec"].as_object()["schedulingGates"].as_array();
  gates.insert(gates.begin(), json::object{{"name", "example.com/other"}});
  EXPECT_EQ(read_pod_facts(pod)->gate, 1U);
  gates.pop_back();
  EXPECT_FALSE(read_pod_facts(pod)->gate);
  EXPECT_FALSE(read_pod_facts(pod)->open()) << "nobody has admitted it";
  open_gate(pod);
  EXPECT_TRUE(read_pod_facts(pod)->open());
}

// Without this, NPUs of a node that is away, cordoned or unreadable would be given out.
TEST(NodeFacts, SayWhetherANodeIsUsed) {
  json::object node = node_with("n1", 2);
  auto facts = read_node_facts(node);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->unusable, "");
  EXPECT_EQ(facts->inventory.npus.size(), 2U);
  set_ready(node, false);
  EXPECT_EQ(read_node_facts(node)->unusable, "it is not ready");
  node["spec"].as_object()["unschedulable"] = true;
  EXPECT_EQ(read_node_facts(node)->unusable, "it is cordoned");
  node["metadata"].as_object()["annotations"].as_object()["tangram.dev/npus"] = "{}";
  EXPECT_THAT(read_node_facts(node)->unusable, HasSubstr("tangram.dev/npus"));
  EXPECT_TRUE(read_node_facts(node)->inventory.npus.empty());
  node["metadata"].as_object().erase("annotations");
  EXPECT_FALSE(read_node_facts(node)) << "it has no agent";
}

}  // namespace
}  // namespace tangram::kube::manager

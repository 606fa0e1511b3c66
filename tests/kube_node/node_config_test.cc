#include "kube/node/node_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/node/inventory.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

wire::NodeConfig config(const std::string& name, const std::string& pool) {
  wire::NodeConfig made;
  made.name = name;
  made.nodes.match_labels = {{"pool", pool}};
  return made;
}

DeviceNpu a_310p3(std::uint32_t index) {
  DeviceNpu npu;
  npu.physical_id = index;
  npu.chip = "310P3";
  npu.uuid = "UUID" + std::to_string(index);
  npu.health = Health::kOk;
  npu.memory_total = Sample<Bytes>::known(Bytes::mib(21527));
  npu.slicing.support = SliceSupport::kListed;
  npu.slicing.slices.valid = true;
  return npu;
}

MachineFacts facts_with(const FactRules& rules) {
  DeviceScan scan;
  scan.npus = {a_310p3(0), a_310p3(1)};
  return facts_of(scan, rules, HandOut(), MachineFacts());
}

// Without it one pool's nodes would be used as another's.
TEST(NodeConfig, IsThatOfTheNodesThatItSelects) {
  const std::vector<wire::NodeConfig> all{config("b", "large"), config("a", "large"), config("c", "small")};
  const auto selected = selected_by(all, {{"pool", "large"}, {"other", "x"}});
  ASSERT_THAT(selected, SizeIs(2));
  EXPECT_EQ(selected[0].name, "a");
  EXPECT_EQ(selected[1].name, "b");
  EXPECT_THAT(selected_by(all, {}), IsEmpty());
}

// Without it an operator's word on a node would be heeded by the manager, or by nobody, and not by the node.
TEST(NodeConfig, SharesCuttingAndExclusionAreHeeded) {
  wire::NodeConfig shares = config("a", "x");
  shares.shares_per_npu = 100;
  EXPECT_EQ(facts_with(rules_for(builtin_rules(), {shares})).npus[0].shares, 100U);
  EXPECT_EQ(facts_with(rules_for(builtin_rules(), {})).npus[0].shares, 7U);

  wire::NodeConfig whole = config("b", "x");
  whole.cut = false;
  const NpuFacts uncut = facts_with(rules_for(builtin_rules(), {whole})).npus[0];
  EXPECT_THAT(uncut.templates, IsEmpty());
  EXPECT_EQ(uncut.shares, 1U);
  EXPECT_THAT(uncut.not_cut, HasSubstr("NodeConfig \"b\""));

  wire::NodeConfig without = config("c", "x");
  without.excluded_npus = {1};
  const MachineFacts facts = facts_with(rules_for(builtin_rules(), {without}));
  const NodeNpus inventory = inventory_of(facts);
  ASSERT_THAT(inventory.npus, SizeIs(1));
  EXPECT_EQ(inventory.npus[0].uuid, "UUID0");
  EXPECT_THAT(hami_register_json(facts, "Ascend310P"), testing::Not(HasSubstr("UUID1")));
}

// Without it two that contradict each other would hold in an order that nobody knows.
TEST(NodeConfig, OfSeveralTheSaferHoldsAndItIsSaid) {
  wire::NodeConfig first = config("a", "x");
  first.shares_per_npu = 3;
  first.excluded_npus = {0};
  wire::NodeConfig second = config("b", "x");
  second.shares_per_npu = 5;
  second.excluded_npus = {2};
  second.cut = false;
  FactRules base = builtin_rules();
  base.shares = 9;
  const FactRules rules = rules_for(base, {first, second});
  EXPECT_EQ(rules.shares, 3U);
  EXPECT_THAT(rules.excluded, ElementsAre(0, 2));
  EXPECT_NE(rules.not_cut, "");
  EXPECT_THAT(facts_with(rules).conditions, ElementsAre(HasSubstr("more than one NodeConfig")));
}

}  // namespace
}  // namespace tangram::kube::node

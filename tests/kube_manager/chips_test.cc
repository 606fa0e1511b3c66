#include "kube/manager/chips.h"

#include <gtest/gtest.h>

#include "kube/manager/facts.h"
#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

NodeNpu npu_of(std::string chip, std::int64_t mib, std::int64_t cores) {
  NodeNpu npu;
  npu.uuid = "u";
  npu.chip = std::move(chip);
  npu.healthy = true;
  npu.allocatable_mib = mib;
  npu.ai_cores = cores;
  return npu;
}

// Without this, a Pod that asks for Ascend310P would find no NPU: the driver calls it otherwise.
TEST(Chips, AreAskedForByTheirWord) {
  const auto chips = Chips::builtin();
  EXPECT_EQ(chips->word_of(npu_of("310P3", 21'527, 8)), "Ascend310P");
  EXPECT_EQ(chips->word_of(npu_of("910B4", 32'768, 20)), "Ascend910B4");
  EXPECT_EQ(chips->word_of(npu_of("310P1", 43'054, 8)), "Ascend310P") << "another size of it";
  EXPECT_EQ(chips->word_of(npu_of("unheard-of", 1'000, 8)), "");
}

// Without this, an NPU would be cut by the table of another chip, or one that cannot be cut be offered in
// slices.
TEST(Chips, AreCutAsTheirNodeShows) {
  const auto chips = Chips::builtin();
  const NodeNpu whole = npu_of("310P3", 21'527, 8);
  EXPECT_EQ(chips->template_set_of(whole), "") << "it shows no templates";
  const NodeNpu cut = read_node_facts(node_with("n1", 1))->inventory.npus.front();
  EXPECT_EQ(chips->template_set_of(cut), "310P (24 GiB)");
  NodeNpu fewer = cut;
  fewer.templates.pop_back();
  EXPECT_EQ(chips->template_set_of(fewer), "310P (24 GiB)");
  NodeNpu strange = cut;
  strange.templates.emplace_back("vir99");
  EXPECT_EQ(chips->template_set_of(strange), "");
}

// Without this, slices that nobody has, and NPUs of nodes that are away, would be capacity.
TEST(Chips, ReportWhatStandsInTheWay) {
  const auto chips = Chips::builtin();
  NodeNpu npu = read_node_facts(node_with("n1", 1))->inventory.npus.front();
  npu.strays = {{103, "vir02", {}}};
  const NpuReport report = chips->report_of(npu, true);
  EXPECT_EQ(report.health, Health::kOk);
  EXPECT_EQ(report.memory, Bytes::mib(21'527));
  EXPECT_TRUE(report.cuttable);
  EXPECT_EQ(report.strays, (std::vector<StraySlice>{{103, "vir02", kNoVgroup, true}}));
  EXPECT_NE(chips->report_of(npu, false).health, Health::kOk);
  npu.healthy = false;
  EXPECT_NE(chips->report_of(npu, true).health, Health::kOk);
}

// Without this, a chip that an operator has described would not be found by what it is asked for.
TEST(Chips, OperatorsChipsComeFirst) {
  ChipDocs docs;
  wire::ClusterChip chip;
  chip.name = "mine";
  chip.word = "AscendX";
  chip.chip =
      Catalog::builtin()->chip(Catalog::builtin()->find({"310P3", {}, 8, Bytes::mib(21'527), 0})).model;
  chip.chip.name = "X";
  chip.chip.match.chips = {"X1"};
  docs.emplace(chip.name, chip);
  const auto chips = Chips::with(docs);
  ASSERT_TRUE(chips) << chips.error().to_string();
  EXPECT_EQ((*chips)->word_of(npu_of("X1", 21'527, 8)), "AscendX");
  ASSERT_NE((*chips)->find_template("AscendX", "vir01"), nullptr);
  EXPECT_EQ((*chips)->find_template("AscendX", "vir99"), nullptr);
  EXPECT_EQ((*chips)->find_template("Ascend310P", "vir01")->memory, Bytes::mib(3072));
}

}  // namespace
}  // namespace tangram::kube::manager

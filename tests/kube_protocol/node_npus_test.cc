#include "kube/protocol/node_npus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tangram::kube {
namespace {

NodeNpu a_310p3(std::string uuid, std::uint32_t index) {
  NodeNpu npu;
  npu.uuid = std::move(uuid);
  npu.index = index;
  npu.chip = "310P3";
  npu.resource = "huawei.com/Ascend310P";
  npu.board = 2;
  npu.healthy = true;
  npu.allocatable_mib = 21'527;
  npu.ai_cores = 8;
  npu.shares = 7;
  npu.template_set = "310P (24 GiB)";
  npu.templates = {"vir01", "vir02"};
  npu.strays = {{103, "vir02", 1}, {104, "", {}}};
  return npu;
}

NodeNpus an_inventory() {
  NodeNpu ill = a_310p3("uuid-b", 1);
  ill.healthy = false;
  ill.note = "error code 80E01801";
  ill.template_set.clear();
  ill.templates.clear();
  ill.not_cut = "no driver cuts it";
  ill.strays.clear();
  return {"25.5.0", {"the driver is old"}, {a_310p3("uuid-a", 0), ill}};
}

// Without this, the manager would place Pods on other NPUs than the node has.
TEST(NodeNpusTest, ComeBackAsTheyWere) {
  const std::string text = write_node_npus(an_inventory());
  EXPECT_EQ(
      text,
      R"({"driver":"25.5.0","conditions":["the driver is old"],"npus":[{"uuid":"uuid-a","index":0,"chip":"310P3",)"
      R"("resource":"huawei.com/Ascend310P","board":2,"health":"ok","allocatableMiB":21527,"aiCores":8,"shares":7,)"
      R"x("templateSet":"310P (24 GiB)","templates":["vir01","vir02"],)x"
      R"("strays":[{"id":103,"template":"vir02","vgroup":1},{"id":104}]},)"
      R"({"uuid":"uuid-b","index":1,"chip":"310P3","resource":"huawei.com/Ascend310P","board":2,"health":"bad",)"
      R"("note":"error code 80E01801","allocatableMiB":21527,"aiCores":8,"shares":7,"notCut":"no driver cuts it"}]})");
  const auto read = read_node_npus(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, an_inventory());
  EXPECT_EQ(*read_node_npus(R"({"npus":[]})"), NodeNpus());
}

// Without this, a node whose agent is newer would have no NPUs.
TEST(NodeNpusTest, WhatIsNotKnownIsPassedOver) {
  const auto read =
      read_node_npus(R"({"later":1,"npus":[{"uuid":"u","index":3,"health":"limping","later":{}}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->npus.at(0).index, 3);
  EXPECT_EQ(read->npus.at(0).shares, 1);
  EXPECT_FALSE(read->npus.at(0).healthy);
}

// Without this, one spoilt annotation could end the manager, or double what a node has.
TEST(NodeNpusTest, WhatIsWrongIsRefused) {
  const std::string good = R"({"uuid":"u","index":0,"health":"ok"})";
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"npus":{}})"),
        std::string(R"({"npus":[1]})"), std::string(R"({"npus":[{"uuid":"u","health":"ok"}]})"),
        std::string(R"({"npus":[{"index":0,"health":"ok"}]})"),
        std::string(R"({"npus":[{"uuid":"u","index":0}]})"),
        std::string(R"({"npus":[{"uuid":"u","index":-1,"health":"ok"}]})"),
        std::string(R"({"npus":[{"uuid":"u","index":0,"health":"ok","shares":5000}]})"),
        std::string(R"({"npus":[{"uuid":"u","index":0,"health":"ok","templates":[1]}]})"),
        std::string(R"({"npus":[{"uuid":"u","index":0,"health":"ok","strays":[{"id":1},{"id":1}]}]})"),
        std::string(R"({"npus":[{"uuid":"u","index":0,"health":"ok","strays":[{}]}]})"),
        R"({"npus":[)" + good + R"(,{"uuid":"w","index":0,"health":"ok"}]})",
        R"({"npus":[)" + good + R"(,{"uuid":"u","index":1,"health":"ok"}]})",
        R"({"npus":[],"driver":")" + std::string(kNodeAnnotationBytesMax, 'x') + "\"}"}) {
    const auto read = read_node_npus(text);
    ASSERT_FALSE(read) << text.substr(0, 100);
    EXPECT_EQ(read.error().reason, "kube.annotation.invalid");
  }
}

// Without this, a driver's strange bytes would make the API server refuse the whole annotation.
TEST(NodeNpusTest, WhatADriverSaysIsMadeFit) {
  NodeNpus inventory = an_inventory();
  inventory.npus[1].note = "bad \xFF byte";
  inventory.conditions = {std::string(5'000, 'x')};
  const auto read = read_node_npus(write_node_npus(inventory));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->npus.at(1).note, "bad ? byte");
  EXPECT_EQ(read->conditions.at(0).size(), 1'024U);
}

// Without this, some text of a stranger's would end the manager.
RC_GTEST_PROP(NodeNpusTest, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto read = read_node_npus(text);
  RC_ASSERT(read.has_value() || read.error().reason == "kube.annotation.invalid");
}

}  // namespace
}  // namespace tangram::kube

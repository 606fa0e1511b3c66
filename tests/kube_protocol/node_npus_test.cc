#include "kube/protocol/node_npus.h"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

// Without this, the manager would take the NPUs of a node for others than its agent has written.
TEST(NodeNpus, AreReadAsTheAgentWritesThem) {
  const auto read = read_node_npus(
      R"({"driver":"25.5.0","conditions":["old"],"npus":[{"uuid":"b","index":3,"chip":"310P3","board":2,"health":"ok",)"
      R"("allocatableMiB":21527,"aiCores":8,"shares":7,"templates":["vir01","vir02"],)"
      R"("strays":[{"id":104},{"id":103,"template":"vir02","vgroup":1}],"new":{}},)"
      R"({"uuid":"a","index":0,"chip":"910","health":"bad","note":"hot","shares":1,"notCut":"no driver cuts it"}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->driver, "25.5.0");
  EXPECT_EQ(read->conditions, std::vector<std::string>{"old"});
  ASSERT_EQ(read->npus.size(), 2U);
  const NodeNpu bad{"a", 0, "910", {}, false, "hot", 0, 0, "no driver cuts it", {}, {}};
  EXPECT_EQ(read->npus[0], bad);
  const NodeNpu good{
      "b", 3, "310P3", 2, true, "", 21'527, 8, "", {"vir01", "vir02"}, {{103, "vir02", 1}, {104, "", {}}}};
  EXPECT_EQ(read->npus[1], good);
}

// Without this, one agent with a fault could have an NPU given away twice, or stop the manager.
TEST(NodeNpus, WhatIsWrongIsRefused) {
  for (const std::string& npus :
       {std::string("1"), std::string("[1]"), std::string(R"([{"index":0,"health":"ok"}])"),
        std::string(R"([{"uuid":"a","index":-1,"health":"ok"}])"), std::string(R"([{"uuid":"a","index":0}])"),
        std::string(R"([{"uuid":"a","index":0,"health":"ok"},{"uuid":"a","index":1,"health":"ok"}])"),
        std::string(R"([{"uuid":"a","index":0,"health":"ok"},{"uuid":"b","index":0,"health":"ok"}])"),
        std::string(R"([{"uuid":"a","index":0,"health":"ok","templates":[1]}])"),
        std::string(R"([{"uuid":"a","index":0,"health":"ok","strays":[{"id":1},{"id":1}]}])")}) {
    const auto read = read_node_npus(R"({"npus":)" + npus + "}");
    ASSERT_FALSE(read) << npus;
    EXPECT_EQ(read.error().reason, "kube.annotation.invalid");
  }
  EXPECT_FALSE(read_node_npus("{}"));
  EXPECT_FALSE(read_node_npus("no JSON"));
  EXPECT_TRUE(read_node_npus(R"({"npus":[]})"));
}

}  // namespace
}  // namespace tangram::kube

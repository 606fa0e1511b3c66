#include "kube/protocol/allocation.h"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

// Without this, the node agent would make another slice than the extender has booked.
TEST(Allocations, ComeBackAsTheyWere) {
  const Allocation allocation{"n1",
                              "2026-01-31T08:00:00.000Z",
                              {{"main", GrantKind::kSlice, "vir02_1c", {{"uuid-a", 0}}},
                               {"more", GrantKind::kWhole, "", {{"uuid-b", 1}, {"uuid-c", 2}}}}};
  const std::string text = write_allocation(allocation);
  EXPECT_EQ(
      text,
      R"({"node":"n1","time":"2026-01-31T08:00:00.000Z","containers":[{"container":"main","kind":"slice",)"
      R"("template":"vir02_1c","npus":[{"uuid":"uuid-a","index":0}]},{"container":"more","kind":"whole",)"
      R"("npus":[{"uuid":"uuid-b","index":1},{"uuid":"uuid-c","index":2}]}]})");
  const auto read = read_allocation(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, allocation);
}

// Without this, a 310P would be cut in another vGroup than was counted, and the next slice find no room.
TEST(Allocations, TellTheVgroup) {
  const Allocation allocation{"n1", "", {{"main", GrantKind::kSlice, "vir01", {{"uuid-a", 0}}, 3}}};
  const std::string text = write_allocation(allocation);
  EXPECT_NE(text.find(R"("vgroup":3)"), std::string::npos);
  EXPECT_EQ(*read_allocation(text), allocation);
  EXPECT_FALSE(read_allocation(
      R"({"node":"n1","containers":[{"container":"a","kind":"slice","template":"v","npus":[{"uuid":"u"}],"vgroup":16}]})"));
  EXPECT_FALSE(read_allocation(
      R"({"node":"n1","containers":[{"container":"a","kind":"whole","npus":[{"uuid":"u"}],"vgroup":1}]})"));
}

// Without this, the agent could give a container two NPUs for one slice, or none at all.
TEST(Allocations, WhatIsWrongIsRefused) {
  for (const std::string& containers :
       {std::string("1"), std::string("[1]"), std::string(R"([{"container":"a","kind":"slice","npus":[]}])"),
        std::string(R"([{"container":"a","kind":"whole","npus":[]}])"),
        std::string(R"([{"container":"a","kind":"whole","npus":[{"index":0}]}])"),
        std::string(R"([{"container":"a","kind":"whole","npus":[{"uuid":"u","index":-1}]}])"),
        std::string(
            R"([{"container":"a","kind":"slice","template":"v","npus":[{"uuid":"u"},{"uuid":"w"}]}])"),
        std::string(R"([{"container":"a","kind":"other","npus":[{"uuid":"u"}]}])")}) {
    const auto read = read_allocation(R"({"node":"n1","containers":)" + containers + "}");
    ASSERT_FALSE(read) << containers;
    EXPECT_EQ(read.error().reason, "kube.annotation.invalid");
  }
  EXPECT_FALSE(read_allocation("[]"));
  EXPECT_FALSE(read_allocation(R"({"containers":[]})")) << "no node";
}

}  // namespace
}  // namespace tangram::kube

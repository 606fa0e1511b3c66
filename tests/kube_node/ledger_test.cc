#include "kube/node/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tangram::kube::node {
namespace {

using testing::ElementsAreArray;

std::vector<Handed> some_entries() {
  Handed slice{{"u1", "team-a", "one", "main"}, {"A-1"}, true, {3}, "vir02", 148, Handed::State::kOrdered};
  slice.vgroup = 2;
  Handed whole{{"u2", "team-b", "two", "main"}, {"A-2", "B-1"}, false, {0, 3}, "", 0, Handed::State::kHeld};
  return {slice, whole};
}

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() : directory_(std::filesystem::temp_directory_path() / ("ledger-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
  }
  ~LedgerTest() override { std::filesystem::remove_all(directory_); }

  const std::filesystem::path directory_;
};

// Without it an agent that starts again would not know whose the slices are.
TEST_F(LedgerTest, WhatWasWrittenIsReadAgain) {
  const Ledger ledger((directory_ / "slices.json").string());
  ASSERT_TRUE(ledger.read());
  EXPECT_FALSE(ledger.read()->has_value());  // none is not the same as an empty one
  ASSERT_TRUE(ledger.write(some_entries()));
  EXPECT_THAT(**ledger.read(), ElementsAreArray(some_entries()));
  ASSERT_TRUE(ledger.write({}));
  EXPECT_TRUE((*ledger.read())->empty());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "slices.json.new"));
}

// Without it a ledger that cannot be read would be taken for an empty one, and every slice for nobody's.
TEST_F(LedgerTest, ADamagedOneIsAnError) {
  const std::string good = ledger_text(some_entries());
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string(R"({"version": 2, "entries": []})"),
        good.substr(0, good.size() / 2), std::string(R"({"version": 1, "entries": [{"uid": "u"}]})")}) {
    const auto entries = parse_ledger(text);
    ASSERT_FALSE(entries) << text;
    EXPECT_EQ(entries.error().reason, "node.ledger.damaged");
  }
  // A slice whose share or template is not to be read belongs to nobody, and would be returned.
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"148", "999"},
                                                        {R"(["A-1"])", "[]"},
                                                        {R"(["A-1"])", "[7]"},
                                                        {R"(["A-1"])", R"(["../A-1"])"},
                                                        {R"("npus":[3])", R"("npus":[-1])"},
                                                        {R"("npus":[3])", R"("npus":[3,4])"},
                                                        {R"("template":"vir02",)", ""},
                                                        {R"("vgroup":2)", R"("vgroup":99)"},
                                                        {"ordered", "order"}}) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    EXPECT_FALSE(parse_ledger(text)) << text;
  }
  std::vector<Handed> twice = some_entries();
  twice.push_back(twice.front());
  EXPECT_FALSE(parse_ledger(ledger_text(twice)));
}

// Without it nobody could find out what befell it.
TEST_F(LedgerTest, ADamagedOneIsKeptAside) {
  const Ledger ledger((directory_ / "slices.json").string());
  std::ofstream(directory_ / "slices.json") << "half";
  ASSERT_FALSE(ledger.read());
  ledger.set_aside();
  EXPECT_FALSE(ledger.read()->has_value());
  EXPECT_TRUE(std::filesystem::exists(directory_ / "slices.json.damaged"));
}

// Without it an order would go out that nobody remembers.
TEST_F(LedgerTest, AnUnwritablePlaceIsAnErrorAndLeavesTheFile) {
  const Ledger ledger((directory_ / "nowhere" / "slices.json").string());
  EXPECT_FALSE(ledger.write(some_entries()));
}

}  // namespace
}  // namespace tangram::kube::node

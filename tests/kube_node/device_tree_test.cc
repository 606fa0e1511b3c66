#include "kube/node/device_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tangram::kube::node {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr unsigned kMajor = 60;  // for experiments

class DeviceTreeTest : public testing::Test {
 protected:
  DeviceTreeTest() : root_(fs::temp_directory_path() / ("device-tree-" + std::to_string(getpid()))) {
    fs::create_directories(root_ / "dev");
    able_ = node("davinci0", 0) && node("vdavinci103", 103) && node("davinci1", 1) &&
            node("davinci_manager", 4000);
  }
  ~DeviceTreeTest() override { fs::remove_all(root_); }

  void SetUp() override {
    if (!able_) GTEST_SKIP() << "making device nodes needs root";
  }
  bool node(const std::string& name, unsigned minor) const {
    return mknod((root_ / "dev" / name).c_str(), S_IFCHR | 0660, makedev(kMajor, minor)) == 0;
  }
  std::set<std::string> names(const std::string& share) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_ / "shares" / share))
      names.insert(entry.path().filename());
    return names;
  }
  unsigned minor_of(const std::string& path) const {
    struct stat status{};
    return stat((root_ / "shares" / path).c_str(), &status) == 0 ? minor(status.st_rdev) : 9999;
  }

  const fs::path root_;
  bool able_ = false;
};

Handed handed(ShareIds ids, bool slice, std::vector<std::uint32_t> npus, std::uint32_t id = 0) {
  return {{"u", "s", "p", "c"}, std::move(ids), slice, std::move(npus), slice ? "vir01" : "", id, {}};
}

// Without it a container would find another device than its Pod was given.
TEST_F(DeviceTreeTest, AShareHoldsTheNodeOfWhatWasHandedOutAndNothingElse) {
  const DeviceTree tree((root_ / "shares").string(), (root_ / "dev").string());
  ASSERT_TRUE(tree.publish(handed({"A-3"}, true, {0}, 103)));
  EXPECT_THAT(names("A-3"), ElementsAre("davinci103"));
  EXPECT_EQ(minor_of("A-3/davinci103"), 103U);
  ASSERT_TRUE(tree.publish(handed({"A-3"}, false, {0})));  // the next one in this place
  EXPECT_THAT(names("A-3"), ElementsAre("davinci0"));
  ASSERT_TRUE(tree.publish(handed({"A-3", "B-1"}, false, {0, 1})));
  EXPECT_THAT(names("A-3"), ElementsAre("davinci0"));
  EXPECT_THAT(names("B-1"), ElementsAre("davinci1"));
  // More shares than NPUs: the container is shown all of their directories.
  ASSERT_TRUE(tree.publish(handed({"A-3", "B-1"}, false, {0})));
  EXPECT_THAT(names("B-1"), IsEmpty());
  ASSERT_TRUE(tree.clear("A-3"));
  EXPECT_FALSE(fs::exists(root_ / "shares/A-3"));
  EXPECT_TRUE(tree.clear("A-3"));
}

// Without it nothing would be known of who has what once the ledger is damaged.
TEST_F(DeviceTreeTest, WhatStandsInThePlacesCanBeRead) {
  const DeviceTree tree((root_ / "shares").string(), (root_ / "dev").string());
  EXPECT_TRUE(tree.contents().empty());
  ASSERT_TRUE(tree.publish(handed({"A-3", "B-1"}, false, {0})));
  ASSERT_TRUE(tree.publish(handed({"C-0"}, true, {0}, 103)));
  const std::map<std::string, std::vector<std::string>> wanted{{"A-3", {"davinci0"}},
                                                               {"C-0", {"davinci103"}}};
  EXPECT_EQ(tree.contents(), wanted);
}

// Without it a container would start without its NPU, or with what the one before had.
TEST_F(DeviceTreeTest, ANodeThatIsNotThereIsAnError) {
  const DeviceTree tree((root_ / "shares").string(), (root_ / "dev").string());
  const auto missing = tree.publish(handed({"A-3"}, true, {0}, 104));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason, "node.device.missing");
}

// Without it what ended while no agent was there would stay within reach.
TEST_F(DeviceTreeTest, OnlyTheSharesThatAreInUseAreKept) {
  const DeviceTree tree((root_ / "shares").string(), (root_ / "dev").string());
  ASSERT_TRUE(tree.publish(handed({"A-3"}, true, {0}, 103)));
  ASSERT_TRUE(tree.publish(handed({"B-1"}, false, {1})));
  tree.keep_only({"B-1", "C-1"});
  EXPECT_FALSE(fs::exists(root_ / "shares/A-3"));
  EXPECT_TRUE(fs::exists(root_ / "shares/B-1/davinci1"));
}

// Without it the driver's library could not be initialised in a container.
TEST_F(DeviceTreeTest, TheDriversCommonNodesAreThoseThatAreThere) {
  const DeviceTree tree((root_ / "shares").string(), (root_ / "dev").string());
  EXPECT_THAT(tree.common_nodes(), ElementsAre((root_ / "dev/davinci_manager").string()));
}

}  // namespace
}  // namespace tangram::kube::node

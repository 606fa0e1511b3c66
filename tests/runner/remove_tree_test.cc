#include "runner/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runner/unique_fd.h"

namespace tangram::runner {
namespace {

namespace fs = std::filesystem;

class RemoveTree : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tangram-tree-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    root_ = path;
    tree_ = root_ + "/tree";
    ASSERT_EQ(mkdir(tree_.c_str(), 0700), 0);
  }
  void TearDown() override {
    if (!root_.empty()) {
      EXPECT_TRUE(remove_tree(root_));
    }
  }

  std::string root_;
  std::string tree_;
};

// Without this, a job that nests directories without end could never be removed, and would take all the
// descriptors of the daemon at each try.
TEST_F(RemoveTree, DepthCostsNoDescriptors) {
  UniqueFd at(open(tree_.c_str(), O_RDONLY | O_DIRECTORY));
  for (int depth = 0; depth < 300; ++depth) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    ASSERT_TRUE(UniqueFd(openat(at.get(), "file", O_CREAT | O_WRONLY, 0600)).valid());
    at = UniqueFd(openat(at.get(), "d", O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(at.valid());
  }
  at.reset();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 32;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Result<void> removed = remove_tree(tree_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(removed) << removed.error().to_string();
  EXPECT_FALSE(fs::exists(tree_));
}

// Without this, root would delete what a tenant's link points to.
TEST_F(RemoveTree, LinksAreRemovedAndNotFollowed) {
  const std::string outside = root_ + "/outside";
  fs::create_directory(outside);
  std::ofstream(outside + "/keep") << "content";
  fs::create_directory_symlink(outside, tree_ + "/link");
  fs::create_directory_symlink("..", tree_ + "/up");
  fs::create_hard_link(outside + "/keep", tree_ + "/hard");
  ASSERT_TRUE(remove_tree(tree_));
  EXPECT_FALSE(fs::exists(tree_));
  EXPECT_TRUE(fs::exists(outside + "/keep"));
  fs::create_directory_symlink(outside, tree_);
  ASSERT_TRUE(remove_tree(tree_)) << "a link in the place of the tree itself";
  EXPECT_TRUE(fs::exists(outside + "/keep"));
}

// Without this, one file with a name that is no text would keep its job's directory for ever.
TEST_F(RemoveTree, AnyNameAndAnyKindOfFile) {
  for (const std::string& name :
       std::vector<std::string>{"\n", "\x1b[2J", "-rf", "\xff\xfe", "*", "...", " "}) {
    fs::create_directories(fs::path(tree_) / name / name);
    std::ofstream(fs::path(tree_) / name / "file") << name;
  }
  ASSERT_EQ(mkfifo((tree_ + "/fifo").c_str(), 0600), 0);
  fs::create_directory(tree_ + "/closed");
  ASSERT_EQ(chmod((tree_ + "/closed").c_str(), 0), 0);
  for (int i = 0; i < 100; ++i) fs::create_directories(tree_ + "/wide/" + std::to_string(i));
  ASSERT_TRUE(remove_tree(tree_));
  EXPECT_FALSE(fs::exists(tree_));
  EXPECT_TRUE(remove_tree(tree_)) << "what is not there is removed";
}

}  // namespace
}  // namespace tangram::runner

#include "cli/find_program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace tangram::cli {
namespace {

namespace fs = std::filesystem;

class FindProgram : public testing::Test {
 protected:
  FindProgram() : root_(fs::path(testing::TempDir()) / ("find-program-" + std::to_string(getpid()))) {
    for (const char* directory : {"first", "second", "first/tool"}) fs::create_directories(root_ / directory);
    std::ofstream(root_ / "first/notes") << "not executable";
    for (const char* program : {"second/tool", "second/notes"}) {
      std::ofstream(root_ / program) << "#!/bin/sh";
      chmod((root_ / program).c_str(), 0755);
    }
    path_ = (root_ / "first").string() + ":" + (root_ / "second").string();
  }
  ~FindProgram() override { fs::remove_all(root_); }

  fs::path root_;
  std::string path_;
};

// Without it `tangram submit -- train` would fail where `train` alone works.
TEST_F(FindProgram, TakesABareNameFromThePath) {
  EXPECT_EQ(find_program("tool", path_, "/"), (root_ / "second/tool").string())
      << "a directory is no program";
  EXPECT_EQ(find_program("notes", path_, "/"), (root_ / "second/notes").string()) << "nor is a plain file";
}

// Without it a program that only the job sees could not be named.
TEST_F(FindProgram, LeavesWhatItDoesNotFind) {
  EXPECT_EQ(find_program("absent", path_, "/"), "absent");
  EXPECT_EQ(find_program("tool", "", "/"), "tool");
  EXPECT_EQ(find_program("", path_, "/"), "");
  EXPECT_EQ(find_program("/absent/tool", path_, "/"), "/absent/tool");
}

// Without it the current directory of the caller could decide inside the job.
TEST_F(FindProgram, SkipsRelativeDirectoriesOfThePath) {
  EXPECT_EQ(find_program("tool", ":.:second:", "/"), "tool");
}

// Without it `./train` would be looked for in the job's own empty directory.
TEST_F(FindProgram, ReadsARelativePathFromTheCallersDirectory) {
  EXPECT_EQ(find_program("./train", path_, "/srv/work"), "/srv/work/train");
  EXPECT_EQ(find_program("bin/train", path_, "/srv/work"), "/srv/work/bin/train");
  EXPECT_EQ(find_program("../train", path_, "/srv/work"), "/srv/train");
}

}  // namespace
}  // namespace tangram::cli

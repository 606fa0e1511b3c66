#include "cli/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tangram::cli {

void expect_as_kept(const std::string& name, const std::string& text) {
  const std::string path = std::string(TANGRAM_GOLDEN_DIR) + "/" + name + ".txt";
  if (std::getenv("TANGRAM_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  const std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "in " << path;
}

}  // namespace tangram::cli

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

constexpr const char* kHeaders[] = {"acl/acl.h", "acl/acl_base.h", "acl/acl_rt.h", "acl/ops/acl_cblas.h"};

class AbiTest : public testing::Test {
 protected:
  AbiTest() {
    char name[] = "/tmp/ascendsim-abi-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~AbiTest() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  std::string folder_;
};

// Every function that a header declares: the name before the first parenthesis of an unindented line.
std::set<std::string> declared_functions() {
  std::set<std::string> names;
  for (const char* header : kHeaders) {
    std::ifstream lines(std::string(ASCENDCL_INCLUDE "/") + header);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = line.find('(');
      if (end == std::string::npos || line.front() == ' ') continue;
      const std::size_t before = line.find_last_of(" *", end);
      const std::string name = before == std::string::npos ? "" : line.substr(before + 1, end - before - 1);
      if (name.rfind("acl", 0) == 0) names.insert(name);
    }
  }
  return names;
}

std::set<std::string> exported_symbols() {
  const CommandResult result = run_command("nm -D --defined-only " ASCENDCL_LIBRARY);
  EXPECT_EQ(result.status, 0) << result.output;
  std::set<std::string> names;
  std::istringstream lines(result.output);
  for (std::string address, type, name; lines >> address >> type >> name;) names.insert(name);
  return names;
}

// Without this, a program that finds a name in the header would not link, or would meet symbols that are
// ours.
TEST_F(AbiTest, ExportsExactlyWhatTheHeadersDeclare) {
  const auto declared = declared_functions();
  EXPECT_GT(declared.size(), 80U);
  EXPECT_EQ(exported_symbols(), declared);
}

// Without this, a C program could not use the headers, or a C++ one would get warnings from them.
TEST_F(AbiTest, HeadersCompileAloneAsCAndCpp) {
  for (const char* header : kHeaders) {
    std::ofstream(folder_ + "/one.c") << "#include \"" << header << "\"\nint main(void) { return 0; }\n";
    for (const char* compiler :
         {C_COMPILER " -std=c99", C_COMPILER " -std=c11", CXX_COMPILER " -x c++ -std=c++11"}) {
      const CommandResult result =
          run_command(std::string(compiler) + " -pedantic -Wall -Wextra -Werror -fsyntax-only -I " +
                      ASCENDCL_INCLUDE " " + folder_ + "/one.c");
      EXPECT_EQ(result.status, 0) << compiler << " " << header << "\n" << result.output;
    }
  }
}

// Without this, only programs built with this project's own headers would run on the machine.
TEST_F(AbiTest, AForeignProgramThatLinks) {
  const SimulatedMachine machine;
  const CommandResult built =
      run_command(C_COMPILER " -std=c99 -Wall -Werror -o " + folder_ +
                  "/linked " FOREIGN_SOURCES "/linked.c -L " + machine.library_folder() + " -lascendcl");
  ASSERT_EQ(built.status, 0) << built.output;
  const CommandResult ran =
      run_command("LD_LIBRARY_PATH=" + machine.library_folder() + " " + folder_ + "/linked");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_EQ(ran.output, "58 64 139 154\n");
}

// Without this, frameworks that look symbols up at run time would find nothing, or crash when they unload.
TEST_F(AbiTest, AForeignProgramThatLoads) {
  const SimulatedMachine machine;
  const CommandResult built = run_command(C_COMPILER " -std=c99 -Wall -Werror -o " + folder_ +
                                          "/loaded " FOREIGN_SOURCES "/loaded.c -ldl");
  ASSERT_EQ(built.status, 0) << built.output;
  const CommandResult ran =
      run_command("LD_LIBRARY_PATH=" + machine.library_folder() + " " + folder_ + "/loaded");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_EQ(ran.output, "0 through the device\n");
}

}  // namespace
}  // namespace ascendsim

#include "base/crash_point.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tangram {
namespace {

// Without this, a crash test could pass because its crash never happened.
TEST(CrashPoint, KillsAtTheNamedPassOnly) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("TANGRAM_CRASH_AT", "here:2", 1);
    pass_crash_point("elsewhere");
    pass_crash_point("here");
    if (std::getenv("TANGRAM_CRASH_AT") == nullptr) _exit(3);
    pass_crash_point("here");
    _exit(4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

// Without this, a test that plays the life of a daemon within its own process would be killed in its place.
TEST(CrashPoint, ATestCanTakeTheKillsPlace) {
  std::vector<std::string> passed;
  on_crash_point([&passed](std::string_view name) { passed.emplace_back(name); });
  pass_crash_point("here");
  on_crash_point([](std::string_view) { throw std::runtime_error("dead"); });
  EXPECT_THROW(pass_crash_point("there"), std::runtime_error);
  on_crash_point(nullptr);
  pass_crash_point("here");
  EXPECT_EQ(passed, std::vector<std::string>{"here"});
}

}  // namespace
}  // namespace tangram

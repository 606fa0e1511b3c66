#include "base/crash_point.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

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

}  // namespace
}  // namespace tangram

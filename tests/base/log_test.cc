#include "base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tangram {
namespace {

std::string logged(const std::string& message) {
  testing::internal::CaptureStderr();
  log::start("test", log::Level::kInfo);
  log::info(message);
  return testing::internal::GetCapturedStderr();
}

// Without this, a tenant's words could forge a line of the log, or drive the terminal of whoever reads it.
TEST(Log, ControlCharactersStayOneHarmlessLine) {
  const std::string line = logged("a\nforged\x1b[2J\x07\r\x7f\xc2\x9b" + std::string(1, '\0') + "z");
  EXPECT_TRUE(line.ends_with("a?forged?[2J???\xc2??z\n")) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

// Without this, names in other scripts would be unreadable in the log.
TEST(Log, TextInOtherScriptsIsKept) {
  EXPECT_TRUE(logged("任务 é").ends_with("任务 é\n"));
}

}  // namespace
}  // namespace tangram

#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tangram {
namespace {

Result<int> inner() {
  return fail(Code::kNotFound, "x.missing", "no such x");
}
Result<int> outer() {
  TG_TRY(const int value, inner());
  return value;
}

// Without this, an error would lose its reason on the way up.
TEST(Error, TravelsThroughTry) {
  const auto result = outer();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "x.missing");
}

// Without this, a log line would show the context but not the cause.
TEST(Error, WrapKeepsCodeAndShowsTheChain) {
  const Error error = wrap("cannot open journal", system_error("open /x", ENOSPC));
  EXPECT_EQ(error.code, Code::kResourceExhausted);
  EXPECT_EQ(error.to_string(), "cannot open journal: open /x: No space left on device");
}

}  // namespace
}  // namespace tangram

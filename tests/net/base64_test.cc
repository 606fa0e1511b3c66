#include "net/base64.h"

#include <gtest/gtest.h>

namespace tangram::net {
namespace {

// Without this, output of a job that is no text would arrive as something else.
TEST(Base64, RoundTripsAnyBytes) {
  std::string bytes;
  for (int length = 0; length < 600; ++length) {
    const auto back = decode_base64(encode_base64(bytes));
    ASSERT_TRUE(back) << length;
    EXPECT_EQ(*back, bytes);
    bytes += static_cast<char>(length * 7 % 256);
  }
  EXPECT_EQ(encode_base64("line 1\n"), "bGluZSAxCg==");
}

// Without this, a damaged answer would be taken for output.
TEST(Base64, RefusesWhatIsNone) {
  for (const std::string_view text : {"a", "ab", "abc", "ab=c", "====", "a===", "YQ=", "YR==", "YQ==YQ==",
                                      "YQ ==", " YQ=", "Y\nQ=", "YWJ*"}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

}  // namespace
}  // namespace tangram::net

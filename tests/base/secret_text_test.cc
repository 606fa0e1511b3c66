#include "base/secret_text.h"

#include <gtest/gtest.h>

namespace tangram {
namespace {

// Without this, a log would be a place to read tokens from.
TEST(SecretText, NoSpellingOfATokenStays) {
  for (const char* const start : {"tgt_", "tgl_", "TGT_", "TGL_", "tGl_", "%74%67%74_", "tg%6c_", "tg%6C_",
                                  "%54GL%5f", "tgt%5F", "%2574gl_", "%25%37%34gt_"}) {
    EXPECT_EQ(without_secrets("/v1/jobs/" + std::string(start) + "0123%34"), "/v1/jobs/(token)") << start;
  }
  EXPECT_EQ(without_secrets("/tgl_01/tgt_2_34"), "/(token)");
  EXPECT_EQ(without_secrets("/tgt_2_34/tgl_01"), "/(token)");
}

// Without this, what somebody asked could not be read from the log as they asked it.
TEST(SecretText, OtherPathsStayAsTheyWereWritten) {
  for (const char* const path : {"", "/", "/v1/jobs/team%2Fa%20%zz%7", "/tgt", "/TGT-1", "/tg_l"}) {
    EXPECT_EQ(without_secrets(path), path);
  }
}

}  // namespace
}  // namespace tangram

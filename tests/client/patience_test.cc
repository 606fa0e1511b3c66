#include "client/patience.h"

#include <gtest/gtest.h>

namespace tangram::client {
namespace {

// Without it the second restart of a daemon within the life of a `logs -f` would end it.
TEST(Patience, BeginsAnewAfterAnAnswer) {
  const Error away{Code::kUnavailable, "client.unreachable", "", "", {}, nullptr};
  int waits = 0;
  Patience patience([&] { ++waits; }, std::chrono::milliseconds(100));
  EXPECT_TRUE(patience.again_after(away));  // rests longer than that
  EXPECT_FALSE(patience.again_after(away));
  EXPECT_EQ(waits, 1);
  patience.answered();
  EXPECT_TRUE(patience.again_after(away));
  EXPECT_EQ(waits, 2);
  EXPECT_FALSE(patience.again_after(Error{Code::kNotFound, "job.unknown", "", "", {}, nullptr}));
}

}  // namespace
}  // namespace tangram::client

// How many requests a second, exactly.
#include "server/rate_limiter.h"

#include <gtest/gtest.h>

namespace tangram::server {
namespace {

using std::chrono::milliseconds;

class RateLimiterTest : public ::testing::Test {
 protected:
  RateLimiter limiter{Rate{10, 3}};
  RateLimiter::Clock::time_point now{std::chrono::hours(1)};
};

// Without this, a tenant could ask as often as its machine can.
TEST_F(RateLimiterTest, ABurstThenTheRate) {
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter.take("a", now));
  EXPECT_EQ(limiter.take("a", now), milliseconds(100));
  EXPECT_EQ(limiter.take("a", now + milliseconds(40)), milliseconds(60));
  EXPECT_FALSE(limiter.take("a", now + milliseconds(100)));
  EXPECT_TRUE(limiter.take("a", now + milliseconds(100)));
  int admitted = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (!limiter.take("a", now + milliseconds(100 + i))) ++admitted;
  }
  EXPECT_GE(admitted, 99);
  EXPECT_LE(admitted, 100);
}

// Without this, one tenant at its bound would hold up the others.
TEST_F(RateLimiterTest, SharesAreCountedApart) {
  for (int i = 0; i < 50; ++i) limiter.take("a", now);
  EXPECT_TRUE(limiter.take("a", now));
  EXPECT_FALSE(limiter.take("b", now));
}

// Without this, a rest of a day would let a day's requests through at once.
TEST_F(RateLimiterTest, ARestGivesNoMoreThanTheBurst) {
  limiter.take("a", now);
  now += std::chrono::hours(24 * 365);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter.take("a", now));
  EXPECT_TRUE(limiter.take("a", now));
}

// Without this, a batch of a thousand jobs would cost as little as a question.
TEST_F(RateLimiterTest, ACostThatShowsLateIsPaidLater) {
  EXPECT_FALSE(limiter.take("a", now));
  limiter.charge("a", 50, now);
  EXPECT_EQ(limiter.take("a", now), milliseconds(4'900));
  EXPECT_FALSE(limiter.take("a", now + milliseconds(4'900)));
}

// Without this, callers who come and go would fill the memory.
TEST_F(RateLimiterTest, ForgottenCallersLoseNothing) {
  limiter.take("kept", now);
  limiter.charge("kept", 1'000, now);
  for (int i = 0; i < 20'000; ++i) limiter.take("x" + std::to_string(i), now + milliseconds(i));
  EXPECT_TRUE(limiter.take("kept", now + milliseconds(20'000)));
  EXPECT_LE(limiter.callers(), 2'000U);
}

}  // namespace
}  // namespace tangram::server

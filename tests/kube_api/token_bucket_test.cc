#include "kube/api/token_bucket.h"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

// Without this, a storm of events would reach the API server, or a quiet recorder would never write again.
TEST(TokenBucket, AllowsABurstAndThenARate) {
  milliseconds now(5'000);
  TokenBucket bucket(3, milliseconds(100), now);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(now));
  EXPECT_FALSE(bucket.take(now));
  EXPECT_EQ(bucket.wait(now), milliseconds(100));
  now += milliseconds(99);
  EXPECT_FALSE(bucket.take(now));
  EXPECT_EQ(bucket.wait(now), milliseconds(1));
  now += milliseconds(1);
  EXPECT_TRUE(bucket.take(now));
  EXPECT_FALSE(bucket.take(now));
}

// Without this, a fraction of the time would be lost at each look, and a bucket left alone would overflow.
TEST(TokenBucket, CountsEveryMillisecondAndNoMoreThanItsSize) {
  milliseconds now(0);
  TokenBucket bucket(2, milliseconds(100), now);
  EXPECT_TRUE(bucket.take(now) && bucket.take(now));
  int taken = 0;
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(30);
    if (bucket.take(now)) ++taken;
  }
  EXPECT_EQ(taken, 30) << "3000 ms at one per 100";
  now += milliseconds(1'000'000);
  EXPECT_TRUE(bucket.take(now) && bucket.take(now));
  EXPECT_FALSE(bucket.take(now));
}

}  // namespace
}  // namespace tangram::kube

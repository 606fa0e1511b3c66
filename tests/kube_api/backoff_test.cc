#include "kube/api/backoff.h"

#include <gtest/gtest.h>

#include "kube_api/fake_timing.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

constexpr BackoffLimits kLimits{milliseconds(100), milliseconds(1'000), milliseconds(60'000)};

// Without this, a server that is down would be asked without pause, or a client would rest for ever.
TEST(Backoff, DoublesUpToItsMost) {
  FakeTiming timing;
  Backoff backoff(kLimits, timing);
  for (const int expected : {100, 200, 400, 800, 1'000, 1'000}) EXPECT_EQ(backoff.next().count(), expected);
  backoff.reset();
  EXPECT_EQ(backoff.next().count(), 100);
}

// Without this, all clients of a server that came back would return at the same moment.
TEST(Backoff, SpreadsByTheJitterItIsGiven) {
  FakeTiming timing;
  timing.set_jitter(0.5);
  Backoff backoff(kLimits, timing);
  EXPECT_EQ(backoff.next().count(), 150);
  timing.set_jitter(0.999);
  EXPECT_EQ(backoff.next().count(), 399);
}

// Without this, a client that once had trouble would be slow for the rest of its life, and one whose rests
// themselves are long would be thought calm.
TEST(Backoff, BeginsAnewAfterACalm) {
  FakeTiming timing;
  Backoff backoff(kLimits, timing);
  for (int i = 0; i < 4; ++i) timing.advance(backoff.next());
  timing.advance(milliseconds(59'999));
  EXPECT_EQ(backoff.next().count(), 1'000) << "not calm for long enough";
  timing.advance(milliseconds(1'000 + 60'000));
  EXPECT_EQ(backoff.next().count(), 100);
}

// Without this, a server that says when to come back would be asked sooner.
TEST(Backoff, RestsAtLeastAsLongAsTheServerAsked) {
  FakeTiming timing;
  Backoff backoff(kLimits, timing);
  EXPECT_EQ(backoff.next(milliseconds(7'000)).count(), 7'000);
  EXPECT_EQ(backoff.next(milliseconds(10)).count(), 200);
}

}  // namespace
}  // namespace tangram::kube

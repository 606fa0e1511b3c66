#include "kube/api/timing.h"

#include <gtest/gtest.h>

#include <thread>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

// Without this, the API server would refuse every Lease and event: it takes six decimals and UTC only.
TEST(Timing, WritesMicroTimes) {
  using std::chrono::microseconds;
  using std::chrono::system_clock;
  const auto at = [](std::int64_t micros) { return system_clock::time_point(microseconds(micros)); };
  EXPECT_EQ(micro_time(at(0)), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(micro_time(at(1'772'366'400'000'042)), "2026-03-01T12:00:00.000042Z");
  EXPECT_EQ(micro_time(at(-1)), "1969-12-31T23:59:59.999999Z");
}

// Without this, a manager that is told to stop would go on resting.
TEST(Timing, ARestEndsAtItsTimeOrWhenItIsInterrupted) {
  const auto timing = system_timing();
  const milliseconds begun = timing->now();
  EXPECT_TRUE(timing->rest(milliseconds(30), nullptr));
  EXPECT_GE(timing->now() - begun, milliseconds(30));
  net::Interrupt interrupt;
  std::thread later([&] { interrupt.raise(); });
  EXPECT_FALSE(timing->rest(std::chrono::hours(1), &interrupt));
  later.join();
  for (int i = 0; i < 1'000; ++i) {
    const double jitter = timing->jitter();
    ASSERT_TRUE(jitter >= 0 && jitter < 1) << jitter;
  }
}

}  // namespace
}  // namespace tangram::kube

// Handshakes take their turn: whoever begins too many waits for himself.
#include "net/handshake_pace.h"

#include <gtest/gtest.h>

#include <string>

namespace tangram::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class HandshakePaceTest : public ::testing::Test {
 protected:
  static constexpr int kAtOnce = 20;  // of ten a second

  // How many of `count` may begin, and the longest of their waits.
  std::pair<int, HandshakePace::Clock::duration> knock(const std::string& network, int count) {
    int begun = 0;
    HandshakePace::Clock::duration longest{};
    for (int i = 0; i < count; ++i) {
      const auto wait = pace.begin(network, now);
      if (!wait) continue;
      ++begun;
      longest = std::max(longest, *wait);
    }
    return {begun, longest};
  }

  HandshakePace::Clock::time_point now{seconds(1'000)};
  HandshakePace pace{10};
};

// Without it one peer could keep the thread that serves everybody busy with handshakes.
TEST_F(HandshakePaceTest, SomeBeginAtOnceOthersWaitAndTheRestMayNot) {
  EXPECT_EQ(knock("192.0.2.1", kAtOnce).second, milliseconds(0));
  const auto [begun, longest] = knock("192.0.2.1", 1'000);
  EXPECT_LE(begun, 11) << "what may wait for a second";
  EXPECT_GE(begun, 10);
  EXPECT_LE(longest, seconds(1));
  EXPECT_GE(longest, milliseconds(900));
}

// Without it a peer would be shut out by its neighbour.
TEST_F(HandshakePaceTest, OthersDoNotWait) {
  knock("192.0.2.1", 1'000);
  EXPECT_EQ(pace.begin("192.0.2.2", now), milliseconds(0));
}

// Without it whoever knocked too often would stay shut out for as long as he had knocked.
TEST_F(HandshakePaceTest, ARestIsForgiven) {
  for (int second = 0; second < 100; ++second) {
    knock("192.0.2.1", 1'000);
    now += seconds(1);
  }
  EXPECT_TRUE(pace.begin("192.0.2.1", now));
  now += seconds(3);
  const auto [begun, longest] = knock("192.0.2.1", kAtOnce);
  EXPECT_EQ(begun, kAtOnce);
  EXPECT_EQ(longest, milliseconds(0));
}

// Without it the pace would be another one than the configuration says.
TEST_F(HandshakePaceTest, ThePaceIsKept) {
  knock("192.0.2.1", 1'000);
  int begun = 0;
  for (int step = 0; step < 1'000; ++step) {
    now += milliseconds(10);
    begun += knock("192.0.2.1", 3).first;
  }
  EXPECT_NEAR(begun, 100, 2);
}

// Without it a few addresses together would close the door for everybody.
TEST_F(HandshakePaceTest, ManyThatComeAgainDoNotKeepOutOneThatIsNew) {
  for (const int pause_ms : {1, 900}) {  // as fast as they can, and each below the pace of one
    now += seconds(60);
    int begun = 0;
    for (int step = 0; step < 20'000; ++step) {
      if (step % pause_ms == 0) {
        for (int i = 0; i < 50; ++i) begun += pace.begin("crowd-" + std::to_string(i), now) ? 1 : 0;
      }
      if (step % 1'000 == 500) {
        EXPECT_EQ(pace.begin("new-" + std::to_string(step + pause_ms), now), milliseconds(0));
      }
      now += milliseconds(1);
    }
    EXPECT_LE(begun, 20 * 40 + 200) << "all together";
    EXPECT_GE(begun, 20 * 15) << "and their half is used";
  }
}

// Without it many addresses together would do what one may not, and fill the memory.
TEST_F(HandshakePaceTest, AllTogetherAreBounded) {
  int begun = 0;
  for (int i = 0; i < 100'000; ++i) begun += pace.begin("net-" + std::to_string(i), now) ? 1 : 0;
  EXPECT_NEAR(begun, 3 * 20, 2);
  EXPECT_LE(pace.size(), 200U);
  for (int i = 0; i < 100'000; ++i) {
    now += milliseconds(1);
    (void)pace.begin("net-" + std::to_string(i), now);
  }
  EXPECT_LE(pace.size(), 1'000U);
}

}  // namespace
}  // namespace tangram::net

// A wish for a call meets the call, whenever it comes.
#include "server/early_call.h"

#include <gtest/gtest.h>

#include <set>

namespace tangram::server {
namespace {

class EarlyCallTest : public ::testing::Test {
 protected:
  void arrange() {
    call.arrange([this] { return add(); });
  }
  EarlyCall::Ticket add() {
    waiting.insert(++last);
    return last;
  }

  EarlyCall::Ticket last = 0;
  std::set<EarlyCall::Ticket> waiting;
  EarlyCall call{[this](EarlyCall::Ticket ticket) { waiting.erase(ticket); }};
};

// Without it a stream would tell no sign of life, and ask no more whether its reader may still read.
TEST_F(EarlyCallTest, IsMadeWhenItIsWanted) {
  arrange();
  EXPECT_EQ(waiting.size(), 1U);
  call.want();
  EXPECT_TRUE(waiting.empty());
  EXPECT_TRUE(call.take_wish());
  EXPECT_FALSE(call.take_wish());
  arrange();
  EXPECT_EQ(waiting.size(), 1U) << "what was wanted was looked at";
}

// Without it a wish between a call's being arranged and its ticket's being known would ask for the call
// before that, and wait as long as nothing happens.
TEST_F(EarlyCallTest, IsMadeWhenItIsWantedWhileItIsBeingArranged) {
  arrange();
  call.want();
  (void)call.take_wish();
  call.arrange([this] {
    const EarlyCall::Ticket ticket = add();
    call.want();
    return ticket;
  });
  EXPECT_TRUE(waiting.empty());
}

// Without it a wish that comes while the last step still runs would be lost.
TEST_F(EarlyCallTest, IsMadeWhenItWasWantedBefore) {
  call.want();
  arrange();
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace tangram::server

#include "runner/process_owner.h"

#include <gtest/gtest.h>

namespace tangram::runner {
namespace {

// Without this, memory of one job would be shown as another's, or as nobody's.
TEST(ProcessOwner, IsToldByTheControlGroup) {
  const AttemptKey expected{"j-17", 2};
  EXPECT_EQ(attempt_of_memberships("0::/tangram/j-17.2\n", "tangram"), expected);
  EXPECT_EQ(attempt_of_memberships("0::/system.slice/tangramd.service/tangram/j-17.2/inner\n", "tangram"),
            expected);
  EXPECT_EQ(attempt_of_memberships("12:devices:/user.slice\n5:pids:/x/tangram/j-17.2\n0::/\n", "tangram"),
            expected);
  EXPECT_EQ(attempt_of_memberships("0::/machine/tg/j-17.2\n", "/machine/tg"), expected);
  EXPECT_EQ(attempt_of_memberships("0::/tangram/j-1.1/tangram/j-17.2\n", "tangram"), expected);
}

// Without this, a process outside of every job would be charged to one, or a strange name would end the
// daemon.
TEST(ProcessOwner, IsNobodyElsewhere) {
  for (const char* text : {"", "\n", "0::/\n", "0::/tangram\n", "0::/tangram/\n", "0::/other/j-17.2\n",
                           "0::/tangram-other/j-17.2\n", "0::/tangram/j-17\n", "0::/tangram/.2\n",
                           "0::/tangram/j-17.\n", "0::/tangram/j-17.0\n", "0::/tangram/j-17.-1\n",
                           "0::/tangram/j-17.99999999999\n", "0::/tangram/j-17.2x\n"}) {
    EXPECT_EQ(attempt_of_memberships(text, "tangram"), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tangram::runner

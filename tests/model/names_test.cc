#include <gtest/gtest.h>

#include <set>
#include <string>

#include "model/job.h"
#include "model/npu.h"
#include "model/reason.h"
#include "model/tenant.h"

namespace tangram {
namespace {

// Without this, two reasons could share a token, or one could be left without.
TEST(Names, EveryReasonHasATokenOfItsOwn) {
  std::set<std::string> tokens;
  for (int code = 0; code <= static_cast<int>(kReasonLast); ++code) {
    const std::string text(token(static_cast<ReasonCode>(code)));
    EXPECT_TRUE(tokens.insert(text).second) << text;
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_."), std::string::npos) << text;
  }
  EXPECT_EQ(token(ReasonCode::kQuotaNpus), "quota.npus.exceeded");
}

// Without this, a machine that reads states or outcomes could not tell two of them apart.
TEST(Names, EnumeratorsAreSpelledDifferently) {
  std::set<std::string_view> states;
  for (int i = 0; i <= static_cast<int>(JobState::kEnded); ++i)
    states.insert(to_string(static_cast<JobState>(i)));
  EXPECT_EQ(states.size(), 5U);
  std::set<std::string_view> outcomes;
  for (int i = 0; i <= static_cast<int>(Outcome::kRefused); ++i)
    outcomes.insert(to_string(static_cast<Outcome>(i)));
  EXPECT_EQ(outcomes.size(), 8U);
  std::set<std::string_view> healths;
  for (int i = 0; i <= static_cast<int>(Health::kAbsent); ++i)
    healths.insert(to_string(static_cast<Health>(i)));
  EXPECT_EQ(healths.size(), 6U);
  std::set<std::string_view> dimensions;
  for (int i = 0; i < kDimensionCount; ++i) dimensions.insert(to_string(static_cast<Dimension>(i)));
  EXPECT_EQ(dimensions.size(), 8U);
}

// Without this, a priority could be let through that the set does not name.
TEST(PrioritySet, HoldsWhatWasInserted) {
  PrioritySet set;
  set.bits = 0;
  EXPECT_FALSE(set.contains(Priority::kHigh));
  set.insert(Priority::kLow);
  EXPECT_TRUE(set.contains(Priority::kLow));
  EXPECT_FALSE(set.contains(Priority::kNormal));
  for (const Priority priority : {Priority::kHigh, Priority::kNormal, Priority::kLow}) {
    EXPECT_TRUE(PrioritySet::all().contains(priority));
  }
}

}  // namespace
}  // namespace tangram

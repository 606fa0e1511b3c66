#include "wire/explain.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/error.h"
#include "model/reason.h"
#include "wire/errors.h"
#include "wire/texts.h"

namespace tangram::wire {
namespace {

constexpr std::array kLanguages = {Language::kEnglish, Language::kChinese};

// Without it a code that somebody reads in an answer could have no explanation.
TEST(Explain, KnowsEveryReasonClassAndExitCode) {
  std::set<std::string> wanted = {"0", "1", "2", "3", "4", "5", "6", "7", "70"};
  for (int n = 1; n <= static_cast<int>(kReasonLast); ++n)
    wanted.insert(std::string(token(static_cast<ReasonCode>(n))));
  for (int n = 0; n <= static_cast<int>(Code::kInternal); ++n)
    wanted.insert(std::string(to_string(static_cast<Code>(n))));
  for (const ReasonText& reason : reason_catalogue()) wanted.insert(std::string(reason.token));
  for (const Language language : kLanguages) {
    std::set<std::string> known;
    for (const CodeEntry& entry : code_entries(language)) {
      EXPECT_TRUE(known.insert(entry.code).second) << entry.code << " stands twice";
      EXPECT_FALSE(entry.meaning.empty()) << entry.code;
      EXPECT_FALSE(entry.remedy.empty()) << entry.code << " says nothing to do";
    }
    EXPECT_EQ(known, wanted);
  }
}

// Without it nobody would know whether to wait or to submit otherwise.
TEST(Explain, SaysWhatFollowsForAJob) {
  const auto busy = find_codes("capacity.npus.busy", Language::kEnglish);
  const auto never = find_codes("quota.npus.above_limit", Language::kEnglish);
  ASSERT_TRUE(busy.size() == 1 && never.size() == 1);
  EXPECT_NE(busy[0].effect.find("waits"), std::string::npos);
  EXPECT_NE(never[0].effect.find("refused"), std::string::npos);
  EXPECT_TRUE(find_codes("job.unknown", Language::kEnglish)[0].effect.empty());
}

// Without it a family of codes could not be looked through, or a code be taken for a family.
TEST(Explain, AFamilyIsAllThatBeginWithIt) {
  const auto family = find_codes("journal", Language::kChinese);
  EXPECT_GT(family.size(), 5U);
  for (const CodeEntry& entry : family) EXPECT_TRUE(entry.code.starts_with("journal.")) << entry.code;
  EXPECT_EQ(find_codes("quota.npus.exceeded", Language::kEnglish).size(), 1U);
  EXPECT_TRUE(find_codes("quot", Language::kEnglish).empty());
  EXPECT_TRUE(find_codes("", Language::kEnglish).empty());
  EXPECT_EQ(find_codes("http.502", Language::kEnglish).size(), 1U);
  EXPECT_TRUE(find_codes("http.5x2", Language::kEnglish).empty());
}

}  // namespace
}  // namespace tangram::wire

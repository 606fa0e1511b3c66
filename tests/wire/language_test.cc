#include "wire/language.h"

#include <gtest/gtest.h>

namespace tangram::wire {
namespace {

// Without it a user in China would get English, or somebody elsewhere Chinese.
TEST(Language, OfALocale) {
  EXPECT_EQ(language_of("zh_CN.UTF-8"), Language::kChinese);
  EXPECT_EQ(language_of("zh"), Language::kChinese);
  EXPECT_EQ(language_of("en_US.UTF-8"), Language::kEnglish);
  EXPECT_EQ(language_of("C.UTF-8"), Language::kEnglish);
  EXPECT_EQ(language_of(""), Language::kEnglish);
}

// Without it a browser would be answered in a language that its user likes less.
TEST(Language, AcceptedByAHeader) {
  EXPECT_EQ(accepted_language("zh-CN,zh;q=0.9,en;q=0.8"), Language::kChinese);
  EXPECT_EQ(accepted_language("en-GB, en;q=0.9, zh;q=0.5"), Language::kEnglish);
  EXPECT_EQ(accepted_language("fr, zh;q=0.3"), Language::kChinese);
  EXPECT_EQ(accepted_language("ZH-hans"), Language::kChinese);
  EXPECT_EQ(accepted_language("zh;q=0.001, en;q=0"), Language::kChinese);
  EXPECT_EQ(accepted_language("zh;q=0"), Language::kEnglish);
  EXPECT_EQ(accepted_language("zha"), Language::kEnglish);  // another language
  EXPECT_EQ(accepted_language("*"), Language::kEnglish);
  EXPECT_EQ(accepted_language(""), Language::kEnglish);
}

// Without it a header that a stranger made up could do more than be ignored.
TEST(Language, NonsenseInTheHeaderCountsForNothing) {
  for (const char* header :
       {";", ",,,", "zh;q", "zh;q=", "zh;q=x", "zh;q=0x9", "zh;q=0.x", "zh;level=1", ";q=1"}) {
    EXPECT_EQ(accepted_language(header), Language::kEnglish) << header;
  }
  EXPECT_EQ(accepted_language(std::string(100'000, ',')), Language::kEnglish);
}

// Without it a text could be shown with its places empty, or with one value in another's place.
TEST(Text, PlacesAreFilledByName) {
  constexpr Text kText{"{job} on {npu}", "{npu} 上的 {job}"};
  EXPECT_EQ(fill(kText, Language::kEnglish, {{"job", "j-1"}, {"npu", "NPU 0"}}), "j-1 on NPU 0");
  EXPECT_EQ(fill(kText, Language::kChinese, {{"job", "j-1"}, {"npu", "NPU 0"}}), "NPU 0 上的 j-1");
  EXPECT_EQ(fill(kText, Language::kEnglish, {{"job", "{npu}"}, {"npu", "x"}}), "{npu} on x");
  EXPECT_DEATH(fill(kText, Language::kEnglish, {{"job", "j-1"}}), "no value");
}

}  // namespace
}  // namespace tangram::wire

#include "wire/sentences.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "wire/schema.h"

namespace tangram::wire {
namespace {

std::string chinese(std::string_view sentence) {
  return translated(sentence, Language::kChinese);
}

// Without it a user who reads Chinese would lose the names and numbers of an error, or the error be English.
TEST(Sentences, KeepNamesAndNumbers) {
  EXPECT_EQ(chinese("no job j-17"), "没有任务 j-17");
  EXPECT_EQ(chinese("the unfinished job j-3 has the name train already"),
            "未结束的任务 j-3 已使用名称 train");
  EXPECT_EQ(chinese("exited with status 3"), "退出状态为 3");
  EXPECT_EQ(
      chinese("a slice is of one NPU, and none that can be cut has more than 8 AI cores; the job asks for 9"),
      "一个切片只属于一个 NPU，可切分的 NPU 最多有 8 个 AI Core；任务请求 9 个");
  EXPECT_EQ(translated("exited with status 3", Language::kEnglish), "exited with status 3");
}

// Without it a word of the model would be English in the middle of a sentence, and a phrase stand apart from
// it.
TEST(Sentences, WordsAndPhrasesWithinThem) {
  EXPECT_EQ(chinese("job j-3 has ended: timed-out"), "任务 j-3 已结束：超时");
  EXPECT_EQ(chinese("--time-limit: \"5\" is not a quantity"), "--time-limit：\"5\" 不是一个数量");
  EXPECT_EQ(chinese("write a number with a unit, for example 90s, 15m, 24h or 1h30m"),
            "请写带单位的数值，例如 90s、15m、24h 或 1h30m");
  EXPECT_EQ(chinese("write a number with a unit, for example \"a or b\""),
            "请写带单位的数值，例如 \"a or b\"")
      << "what somebody else wrote stays";
  EXPECT_EQ(chinese("the document must be an object, not \"vm\""), "文档必须是对象，而不是 \"vm\"");
}

// Without it an error of a document would stay English, because it is put together from several sentences.
TEST(Sentences, OfSeveralParts) {
  EXPECT_EQ(
      chinese("document 2 (line 7): line 9, column 3: spec.quota.npus must be a whole number from 0 to 4096, "
              "not \"many\"; and 2 more problems"),
      "第 2 个文档（第 7 行）：第 9 行第 3 列：spec.quota.npus 必须是 0 到 4096 的整数，而不是 "
      "\"many\"；另有 2 "
      "个问题");
  EXPECT_EQ(chinese("something unheard of: no job x"), "something unheard of：没有任务 x");
}

// Without it a stranger's text that looks like a sentence of ours would be changed, and not shown as it is.
TEST(Sentences, WhatIsQuotedStays) {
  EXPECT_EQ(chinese("name must be a text, not \"a list\""), "name 必须是文本，而不是 \"a list\"");
}

// Without it the command line would put a Chinese answer of the daemon into brackets behind a general
// sentence.
TEST(Sentences, WhatIsChineseStays) {
  const Error answer{Code::kNotFound, "job.unknown", "没有任务 j-17", "提示", {}, nullptr};
  EXPECT_EQ(localised(answer, Language::kChinese).message, "没有任务 j-17");
}

// Without it an error that nobody has translated would lose what it says, or say nothing in Chinese.
TEST(Sentences, AnUnknownOneStandsBehindTheGeneralSentence) {
  const Error odd{Code::kNotFound, "job.unknown", "job 7 went for a walk", "call it back", {}, nullptr};
  const Error told = localised(odd, Language::kChinese);
  EXPECT_EQ(told.message, "任务不存在（job 7 went for a walk）");
  EXPECT_EQ(told.hint, "call it back");
  EXPECT_EQ(told.code, Code::kNotFound);
  EXPECT_EQ(localised(odd, Language::kEnglish).message, "job 7 went for a walk");
}

// Without it the cause of an error would stay English, or where it happened would be taken for what happened.
TEST(Sentences, CausesAreTranslated) {
  const Error inner{Code::kNotFound, "tenant.unknown", "no tenant x", "", {}, nullptr};
  EXPECT_EQ(localised(wrap("tenants.yaml", inner), Language::kChinese).to_string(),
            "tenants.yaml: 没有租户 x");
}

// Without it two entries could be for one sentence, and the second never be used.
TEST(Sentences, EachStandsOnce) {
  std::set<std::string_view> seen;
  for (const Text& text : sentences()) {
    EXPECT_TRUE(seen.insert(text.in(Language::kEnglish)).second) << text.in(Language::kEnglish);
    EXPECT_EQ(chinese(text.in(Language::kEnglish)), text.in(Language::kChinese));
  }
}

// Without it a request could hold the daemon up with a text full of joints.
TEST(Sentences, HostileTextIsCheap) {
  std::string joints;
  for (int i = 0; i < 100'000; ++i) joints += "a: ; ";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(chinese(joints).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// Without it real errors of documents could drift away from the sentences that are known.
TEST(Sentences, OfRealErrors) {
  const auto told = [](std::string_view body) {
    const auto submission = read_job_submission(body);
    EXPECT_FALSE(submission) << body;
    return localised(submission.error(), Language::kChinese).message;
  };
  EXPECT_EQ(told(R"({"command":["a"],"npus":0})"), "npus 必须是 1 到 4096 的整数，而不是数字 0");
  EXPECT_EQ(told(R"({"command":["a"],"npuz":1})"), "npuz 不是 JobSubmission 的字段（您是不是要 \"npus\"？）");
  EXPECT_EQ(told("{"), "第 1 行第 2 列：不是合法的 JSON：incomplete JSON");
}

}  // namespace
}  // namespace tangram::wire

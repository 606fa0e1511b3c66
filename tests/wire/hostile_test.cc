// Input made to hurt: bombs, depth, size, random bytes. All of it must be answered quickly and without a
// crash.
#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>

#include "wire/record.h"
#include "wire/schema.h"

namespace tangram::wire {
namespace {

// Far above what the work takes, also under a sanitizer, far below what a stall would.
constexpr std::clock_t kSoon = std::clock_t{10} * CLOCKS_PER_SEC;

// Processor time: what a reader costs the daemon, however busy the machine is.
class Stopwatch {
 public:
  bool is_soon() const { return std::clock() - start_ < kSoon; }

 private:
  std::clock_t start_ = std::clock();
};

std::string repeated(std::size_t count, std::string_view piece) {
  std::string text;
  text.reserve(count * piece.size());
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

// Without it one request of a few hundred bytes would fill the daemon's memory.
TEST(Hostile, AliasBombIsBounded) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) text += "," + last;
    text += "]\n";
  }
  const Stopwatch watch;
  const auto result = read_documents(text, Format::kYaml);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "input.too_many");
  EXPECT_TRUE(watch.is_soon());
}

// Without it an alias that contains itself would be expanded for ever.
TEST(Hostile, SelfReferenceIsRefused) {
  for (const char* text : {"a: &a [*a]\n", "&r {k: *r}\n", "&r [[*r]]\n"}) {
    const auto result = read_documents(text, Format::kYaml);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().reason, "input.syntax") << text;
  }
}

// Without it nested values would exhaust the stack and kill the daemon.
TEST(Hostile, DepthIsBounded) {
  for (const std::size_t depth : {std::size_t{33}, std::size_t{1'000}, std::size_t{400'000}}) {
    const Stopwatch watch;
    const auto json = read_job_submission(repeated(depth, "["));
    ASSERT_FALSE(json);
    EXPECT_EQ(json.error().reason, "input.too_deep");
    const auto yaml = read_documents(repeated(depth, "["), Format::kYaml);
    ASSERT_FALSE(yaml);
    EXPECT_TRUE(yaml.error().reason == "input.too_deep" || yaml.error().reason == "input.syntax");
    const auto block = read_documents(repeated(std::min<std::size_t>(depth, 100'000), "- "), Format::kYaml);
    ASSERT_FALSE(block);
    EXPECT_TRUE(watch.is_soon()) << depth;
  }
}

// Without it a client could make the daemon parse any amount of text.
TEST(Hostile, LargeBodiesAreRefusedAtOnce) {
  const std::string body(10U << 20, ' ');
  const Stopwatch watch;
  for (const Error& error :
       {read_job_submission(body).error(), read_submissions(body).error(),
        read_documents(body, Format::kYaml).error(), read_documents(body, Format::kJson).error()}) {
    EXPECT_EQ(error.code, Code::kResourceExhausted);
    EXPECT_EQ(error.reason, "input.too_large");
    EXPECT_NE(error.message.find("10485760"), std::string::npos) << error.message;
  }
  EXPECT_TRUE(watch.is_soon());
}

// Without it a stream of tiny documents would get around the limits on one.
TEST(Hostile, DocumentsAreCounted) {
  const std::string document = "apiVersion: tangram.dev/v1\nkind: Job\nspec: {command: [x]}\n---\n";
  EXPECT_EQ(read_documents(repeated(1'000, document), Format::kYaml)->size(), 1'000U);
  const auto result = read_documents(repeated(1'001, document), Format::kYaml);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "input.too_many");
}

// Without it shapes that are slow to look at (many fields, many keys) would be a cheap way to stop the
// daemon.
TEST(Hostile, WideBodiesAreAnsweredSoon) {
  const Stopwatch watch;
  std::string fields = R"({"command":["x"])";
  for (int i = 0; fields.size() < kBodyBytesMax - 20; ++i) fields += ",\"f" + std::to_string(i) + "\":0";
  EXPECT_FALSE(read_job_submission(fields + "}"));
  std::string keys = "{";
  for (int i = 0; keys.size() < kBodyBytesMax - 20; ++i) keys += "k" + std::to_string(i) + ": x, ";
  EXPECT_FALSE(read_documents(keys + "}", Format::kYaml));
  EXPECT_FALSE(read_documents(repeated(kBodyBytesMax / 2, "a "), Format::kYaml));
  EXPECT_FALSE(read_documents(repeated(kBodyBytesMax / 2, "{}"), Format::kYaml));
  EXPECT_FALSE(read_documents(repeated(kBodyBytesMax, "\""), Format::kYaml));
  EXPECT_FALSE(read_documents(repeated(kBodyBytesMax, "\n"), Format::kYaml));
  EXPECT_FALSE(read_documents(repeated(kBodyBytesMax / 2, "? "), Format::kYaml));
  EXPECT_FALSE(read_documents(repeated(kBodyBytesMax / 3, "a: "), Format::kYaml));
  EXPECT_FALSE(read_documents(repeated(kBodyBytesMax / 4, "--- "), Format::kYaml));
  EXPECT_TRUE(watch.is_soon());
}

constexpr const char* kSeedJson =
    R"({"name":"a","labels":{"k":"v"},"tenant":"t","npus":2,"memory":"1GiB","command":["x","y"],"env":{"A":"b"}})";
constexpr const char* kSeedYaml =
    "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: &m {name: a}\nspec:\n  quota:\n    npus: 4\n  "
    "members: [1, 2]\n"
    "---\napiVersion: tangram.dev/v1\nkind: Job\nmetadata: {name: \"b\"}\nspec: {command: ['x', *m]}\n";

std::string mutated(std::string text, std::mt19937& random) {
  const std::string_view alphabet = "{}[]:,\"'&*!|>-? \n\t#\\0a\xff\xc3%@`~";
  const int changes = static_cast<int>(random() % 8) + 1;
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    const char c = alphabet[random() % alphabet.size()];
    switch (random() % 3) {
      case 0:
        text[at] = c;
        break;
      case 1:
        text.insert(at, 1, c);
        break;
      default:
        text.erase(at, random() % 6);
        break;
    }
  }
  return text;
}

// Without it some sequence of bytes would crash the daemon; with an answer that is right or an error that
// says why.
TEST(Hostile, RandomBytesAreAnswered) {
  std::mt19937 random(20261129);
  for (int i = 0; i < 4'000; ++i) {
    std::string noise(random() % 200, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    const std::string json = i % 2 == 0 ? mutated(kSeedJson, random) : noise;
    const std::string yaml = i % 2 == 0 ? mutated(kSeedYaml, random) : noise;
    if (const auto read = read_job_submission(json)) {
      EXPECT_EQ(read_job_submission(write(*read)).value(), *read) << json;
    } else {
      EXPECT_FALSE(read.error().message.empty());
    }
    if (const auto read = read_documents(yaml, Format::kYaml)) {
      for (const Document& document : *read)
        EXPECT_TRUE(read_documents(write(document), Format::kJson)) << yaml;
    } else {
      EXPECT_FALSE(read.error().message.empty());
    }
    (void)read_job_view(json);
    (void)decode_record("job_submitted", json);
    (void)to_yaml(json);
  }
}

}  // namespace
}  // namespace tangram::wire

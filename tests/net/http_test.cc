#include "net/http.h"

#include <gtest/gtest.h>

#include "base/quote.h"

namespace tangram::net {
namespace {

// Without this, a client that writes "content-type" would be told that it sent none.
TEST(Headers, NamesIgnoreCaseAndSetReplaces) {
  Headers headers{{"Content-Type", "a"}, {"X-Many", "1"}, {"x-many", "2"}};
  EXPECT_EQ(headers.get("content-TYPE"), "a");
  EXPECT_EQ(headers.get("X-MANY"), "1");
  EXPECT_FALSE(headers.get("content"));
  headers.set("X-many", "3");
  EXPECT_EQ(headers.get("x-many"), "3");
  EXPECT_EQ(headers.size(), 2U);
}

// Without it a body in another charset would be read as UTF-8.
TEST(Headers, HaveParameters) {
  using Values = std::vector<std::string>;
  const auto charset = [](std::string_view field) { return field_parameters(field, "charset"); };
  EXPECT_EQ(charset("application/json"), Values{});
  EXPECT_EQ(charset("application/json; charset=utf-8"), Values{"utf-8"});
  EXPECT_EQ(charset("application/json;version=1 ;CHARSET = \"UTF-16\" ; x"), Values{"UTF-16"});
  EXPECT_EQ(charset("a/b; charset=utf-8; charset=utf-16"), (Values{"utf-8", "utf-16"}));
  EXPECT_EQ(charset("a/b; boundary=\"; charset=utf-16\"; charset=utf-8"), Values{"utf-8"});
  EXPECT_EQ(charset("a/b; boundary=\"\\\"; charset=utf-16"), Values{});
  EXPECT_EQ(charset("a/b; charset"), Values{""});
  EXPECT_EQ(charset("a/b; charset=\"u\\tf"), Values{"utf"});
  EXPECT_EQ(charset(";;;"), Values{});
  EXPECT_EQ(charset("charset=utf-16"), Values{});
}

// Without it a request could be taken for nobody's, or for one with a token that it does not carry.
TEST(Headers, TellTheBearersWord) {
  const auto word = [](const std::string& value) { return bearer_token(Headers{{"authorization", value}}); };
  EXPECT_EQ(bearer_token(Headers{}), std::nullopt);
  EXPECT_EQ(word("Bearer tgt_1_ab"), "tgt_1_ab");
  EXPECT_EQ(word("bEARER   tgt_1_ab"), "tgt_1_ab");
  for (const char* other :
       {"", "Bearer", "Bearer ", "Basic cm9vdDpyb290", "Bearertgt_1_ab", "tgt_1_ab", " Bearer x"})
    EXPECT_EQ(word(other), "") << other;
}

// Without this, a label filter with a special character would select other jobs than asked for.
TEST(Query, RoundTrip) {
  const Query query{{"label", "a=b&c"}, {"label", "100% +1"}, {"", "x"}, {"all", ""}};
  const auto parsed = Query::parse(query.encode());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->all("label"), (std::vector<std::string_view>{"a=b&c", "100% +1"}));
  EXPECT_EQ(parsed->get(""), "x");
  EXPECT_EQ(parsed->get("all"), "");
  EXPECT_FALSE(parsed->get("none"));
}

// Without this, a form-encoded space or a bare flag would be misread.
TEST(Query, ParsesPlusFlagsAndEmptyPairs) {
  const auto parsed = Query::parse("a=x+y&&all&b=1=2");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->get("a"), "x y");
  EXPECT_EQ(parsed->get("all"), "");
  EXPECT_EQ(parsed->get("b"), "1=2");
}

// Without this, a broken escape would reach a tenant name, or a NUL would cut a file name short.
TEST(Query, RefusesBrokenEscapes) {
  for (const char* const text : {"a=%", "a=%4", "a=%zz", "%00=1"}) {
    const auto parsed = Query::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().reason, "http.query.invalid");
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
  }
}

// Without this, the answer to a broken request, and the log, would carry whatever bytes the request had, at
// any length.
TEST(Path, ShowsWhatItRefusesInOneShortLine) {
  const std::string hostile = "/%\x1b[2J\xff" + std::string(100'000, 'x');
  for (const std::string& message :
       {split_path(hostile).error().message, split_path(hostile.substr(1)).error().message,
        Query::parse(hostile).error().message}) {
    EXPECT_LT(message.size(), 300U);
    EXPECT_TRUE(is_utf8(message));
    EXPECT_EQ(message.find('\x1b'), std::string::npos) << message;
  }
}

// Without this, a tenant named "research/vision" could not be addressed.
TEST(Path, SplitsBeforeItDecodes) {
  using Segments = std::vector<std::string>;
  EXPECT_EQ(split_path("/"), Segments{});
  EXPECT_EQ(split_path("/v1/tenants/research%2Fvision"), (Segments{"v1", "tenants", "research/vision"}));
  EXPECT_EQ(split_path("/v1/a+b"), (Segments{"v1", "a+b"}));
  EXPECT_EQ(split_path("/v1//"), (Segments{"v1", "", ""}));
  EXPECT_EQ(split_path("/" + encode_segment("a/b c%\xff")), (Segments{"a/b c%\xff"}));
  for (const char* const path : {"", "v1", "*", "/%", "/a%00b", "http://x/"}) {
    EXPECT_FALSE(split_path(path)) << path;
  }
}

}  // namespace
}  // namespace tangram::net

#include "kube/api/json.h"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

// Without this, a field of another kind than expected would end the process or be taken for something.
TEST(Json, LooksOnlyWhereThereIsSomething) {
  const auto object = parse_object(R"({"a":{"b":"text","n":7,"on":true,"list":[1]},"c":null,"f":1.5})");
  ASSERT_TRUE(object);
  EXPECT_EQ(text_at(*object, {"a", "b"}), "text");
  EXPECT_EQ(text_at(*object, {"a", "n"}), "");
  EXPECT_EQ(text_at(*object, {"a", "b", "c"}), "");
  EXPECT_EQ(text_at(*object, {"c", "d"}), "");
  EXPECT_EQ(number_at(*object, {"a", "n"}), 7);
  EXPECT_EQ(number_at(*object, {"f"}), std::nullopt);
  EXPECT_TRUE(flag_at(*object, {"a", "on"}));
  EXPECT_FALSE(flag_at(*object, {"a", "n"}));
  EXPECT_EQ(array_at(*object, {"a", "list"})->size(), 1U);
  EXPECT_EQ(object_at(*object, {"c"}), nullptr);
  EXPECT_EQ(meta_of(*object).name, "");
}

// Without this, the answer of a proxy would be taken for an object, or a deep one would exhaust the stack.
TEST(Json, RefusesWhatIsNoObject) {
  for (const std::string& text :
       {std::string(), std::string("<html>"), std::string("[1]"), std::string("{\"a\":1"),
        std::string("{} {}"), std::string(100'000, '['), "{\"a\":" + std::string(100'000, '[')}) {
    const auto object = parse_object(text);
    ASSERT_FALSE(object) << text.substr(0, 20);
    EXPECT_EQ(object.error().reason, "kube.answer.invalid");
    EXPECT_LT(object.error().message.size(), 400U);
    JsonReader reader;
    EXPECT_FALSE(reader.read(text)) << text.substr(0, 20);
  }
}

// Without this, a reader that met one bad line would be lost for all that follow, or its memory would grow
// with each object.
TEST(Json, AReaderGoesOnAfterWhatItCouldNotRead) {
  JsonReader reader;
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(reader.read(R"({"a":"unfinis)"));
    const std::string text = R"({"n":)" + std::to_string(i) + R"(,"s":")" + std::string(10'000, 'x') + "\"}";
    const auto object = reader.read(text);
    ASSERT_TRUE(object);
    EXPECT_EQ(number_at(**object, {"n"}), i);
    EXPECT_EQ(text_at(**object, {"s"}).size(), 10'000U);
  }
}

}  // namespace
}  // namespace tangram::kube

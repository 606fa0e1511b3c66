#include "base/quote.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tangram {
namespace {

// Without it a stranger's text could clear the terminal of whoever reads the message, or write lines into a
// log.
TEST(Quote, LeavesNoControlCharacterAndNoBrokenCharacter) {
  EXPECT_EQ(tangram::quoted("a\"b\\c\n\r\t\x1b[2J\x7f"), R"("a\"b\\c\n\r\t\u001b[2J\u007f")");
  EXPECT_EQ(tangram::quoted("\xff\xc3(é张\xed\xa0\x80"), "\"\uFFFD\uFFFD(é张\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(printable("bad \x01"), "bad \\u0001");
}

// Without it a message would be as long as what was sent, or end in half a character.
TEST(Quote, CutsBetweenCharacters) {
  EXPECT_EQ(tangram::quoted("aé", 2), "\"a…\"");
  EXPECT_EQ(tangram::quoted("aé", 3), "\"aé\"");
  EXPECT_EQ(cut_text("aé", 2), "a");
  EXPECT_EQ(cut_text("\xa9\xa9\xa9", 2), "");
  EXPECT_LT(tangram::quoted(std::string(1'000'000, 'x')).size(), 80U);
  EXPECT_TRUE(is_utf8(tangram::quoted(std::string(1'000'000, '\xe5'))));
}

}  // namespace
}  // namespace tangram

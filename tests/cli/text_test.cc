#include "cli/text.h"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

// Without it a Chinese tenant name would push the columns behind it out of line.
TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("°C"), 2U);
  EXPECT_EQ(display_width("显存"), 4U);
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("e\u0301"), 1U);     // combining
  EXPECT_EQ(display_width("\U0001F600"), 2U);  // beyond the first plane
  EXPECT_EQ(display_width("，。"), 4U);
}

// Without it a job's name could clear the operator's screen or fake a line of the table.
TEST(Printable, TakesControlCharactersAndBrokenBytesOut) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc"), "a?[2Jb?c");
  EXPECT_EQ(printable("显存"), "显存");
  EXPECT_EQ(printable("\xC3"), "?");
  EXPECT_EQ(printable("\xC2\x9B"), "?");
  EXPECT_EQ(printable("\xF0\x9F"), "??");
  EXPECT_EQ(printable("a\u202Eb\u2028c"), "a?b?c");  // right to left, line separator
}

// Without it a long sentence would run out of the terminal, or an id would be cut in two.
TEST(WrapText, BreaksAtSpaces) {
  EXPECT_EQ(wrap_text("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrap_text("j-123456789 x", 4, 0), "j-123456789\nx");
  EXPECT_EQ(wrap_text("short", 80, 2), "short");
  EXPECT_EQ(wrap_text("", 80, 2), "");
  EXPECT_EQ(wrap_text("  a  b  ", 80, 2), "a b");
}

// Without it a sentence in Chinese, which has no spaces, would be one line however long, or a line begin with
// a full stop.
TEST(WrapText, BreaksBetweenWideCharacters) {
  EXPECT_EQ(wrap_text("租户的配额已用完", 8, 0), "租户的配\n额已用完");
  EXPECT_EQ(wrap_text("租户的配，额", 8, 0), "租户的\n配，额");
  EXPECT_EQ(wrap_text("租户（配额）", 6, 0), "租户\n（配\n额）");
  EXPECT_EQ(wrap_text("任务 j-17 等待", 10, 2), "任务 j-17\n  等待");
  EXPECT_EQ(wrap_text("运行tangram status", 8, 0), "运行\ntangram\nstatus");
}

// Without it what goes on in the next line would start under another column.
TEST(HangText, GoesOnUnderItsColumn) {
  EXPECT_EQ(hang_text("one two three four five six", 34, 14), "one two three four\n              five six");
}

// Without it a little use would look like none, and an unknown whole like an empty one.
TEST(Bar, ShowsAnyUseAndNeverMoreThanFull) {
  EXPECT_EQ(bar(0, 32, 4), "----");
  EXPECT_EQ(bar(1, 1000, 4), "#---");
  EXPECT_EQ(bar(16, 32, 4), "##--");
  EXPECT_EQ(bar(64, 32, 4), "####");
  EXPECT_EQ(bar(1, 0, 4), "----");
}

// Without it ages would be shown in a unit that nobody reads.
TEST(FormatAge, UsesOneOrTwoUnits) {
  EXPECT_EQ(format_age(-5), "0s");
  EXPECT_EQ(format_age(999), "0s");
  EXPECT_EQ(format_age(42'000), "42s");
  EXPECT_EQ(format_age(5 * 60'000 + 30'000), "5m");
  EXPECT_EQ(format_age(3 * 3'600'000 + 10 * 60'000), "3h10m");
  EXPECT_EQ(format_age(48LL * 3'600'000), "2d");
}

// Without it a leap year or a single digit would make times unreadable.
TEST(FormatTime, IsUtcToTheSecond) {
  EXPECT_EQ(format_time(TimeMs(0)), "1970-01-01 00:00:00Z");
  EXPECT_EQ(format_time(TimeMs(1'709'211'909'999)), "2024-02-29 13:05:09Z");
}

// Without it 27.4 GiB in use would be shown as 27 and the sum of a table would not add up.
TEST(FormatGib, KeepsOneDecimalWhereThereIsOne) {
  EXPECT_EQ(format_gib(Bytes::gib(16)), "16");
  EXPECT_EQ(format_gib(Bytes::mib(512)), "0.5");
  EXPECT_EQ(format_gib(Bytes::mib(28'058)), "27.4");
  EXPECT_EQ(format_gib(Bytes::gib(1LL << 32)), "4294967296");
}

// Without it a slip of the finger would end in a bare "unknown command", or nonsense in a wild guess.
TEST(Nearest, SuggestsWhatIsCloseAndNothingElse) {
  const std::vector<std::string> names = {"status", "submit", "queue", "quota", "why"};
  EXPECT_EQ(nearest("statsu", names), "status");
  EXPECT_EQ(nearest("sumbit", names), "submit");
  EXPECT_EQ(nearest("qeue", names), "queue");
  EXPECT_EQ(nearest("wyh", names), "why");
  EXPECT_EQ(nearest("explode", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
}

}  // namespace
}  // namespace tangram::cli

#include "cli/table.h"

#include <gtest/gtest.h>

#include <array>

namespace tangram::cli {
namespace {

constexpr wire::Text kA{"A", "甲"};
constexpr wire::Text kN{"N", "数量"};
constexpr wire::Text kZ{"Z", "丙"};

constexpr std::array kColumns{
    Column{.key = "a", .title = kA, .is_id = true},
    Column{.key = "n", .title = kN, .align = Align::kRight},
    Column{.key = "z", .title = kZ},
    Column{.key = "more", .title = kZ, .extra = true},
    Column{.key = "graph", .title = kZ, .drawing = true, .untitled = true},
};

Table table(const Canvas& canvas) {
  Table table(kColumns, canvas);
  table.add_row({{"long", Tone::kGood}, {"1"}, {""}, {"x,\"y\""}, {"##"}});
  table.add_row({{"x"}, {"200"}, {"end"}, unknown_cell(), {""}});
  return table;
}

std::string shown(const TableView& view, std::size_t width = 80) {
  return table({width, false, {}, wire::Language::kEnglish, view}).render();
}

// Without it columns would not line up, or a colour would count as width.
TEST(Table, AlignsColumnsWithAndWithoutColour) {
  EXPECT_EQ(shown({}), "A       N  Z\nlong    1       ##\nx     200  end\n");
  const Canvas coloured{80, true};
  EXPECT_NE(table(coloured).render().find("\x1b[32mlong\x1b[0m    1"), std::string::npos);
  EXPECT_EQ(table({}).width(), 18U);
}

// Without it titles in Chinese would push their columns out of line.
TEST(Table, CountsWideTitles) {
  const Canvas chinese{80, false, {}, wire::Language::kChinese};
  EXPECT_EQ(table(chinese).render(), "甲    数量  丙\nlong     1       ##\nx      200  end\n");
}

// Without it the last column would shift when it is aligned right, and notes would run out of the canvas.
TEST(Table, WrapsNotesUnderTheirRow) {
  const std::array columns{Column{.key = "a", .title = kA},
                           Column{.key = "n", .title = kN, .align = Align::kRight}};
  Table table(columns, {11});
  table.add_row({{"x"}, {"5"}});
  table.add_note("one two three", 3);
  EXPECT_EQ(table.render(), "A  N\nx  5\n   one two\n   three\n");
}

// Without it somebody who wants two columns would have to cut them out of a table that changes.
TEST(Table, ShowsTheColumnsThatAreAskedFor) {
  EXPECT_EQ(shown({.columns = {"z", "a"}}), "Z    A\n     long\nend  x\n");
  EXPECT_EQ(shown({.columns = {"more"}}), "Z\nx,\"y\"\n-\n");
  EXPECT_EQ(shown({.columns = {"a", "a"}, .headers = false}), "long  long\nx     x\n");
}

// Without it a script would get titles and remarks between its rows.
TEST(Table, BareRowsHaveNoTitlesAndNoNotes) {
  const Canvas canvas{80, false, {}, wire::Language::kEnglish, {.headers = false}};
  Table bare = table(canvas);
  bare.add_note("one", 2);
  EXPECT_EQ(bare.render(), "long    1       ##\nx     200  end\n");
}

// Without it `tangram cancel $(tangram queue -q)` would cancel twice, or not at all.
TEST(Table, IdsAreOnePerLineAndOnce) {
  EXPECT_EQ(shown({.ids = true}), "long\nx\n");
  Table twice(kColumns, {80, false, {}, wire::Language::kEnglish, {.ids = true}});
  twice.add_row({{"t"}, {"1"}, {""}, {""}, {""}});
  twice.add_row({{"t"}, {"2"}, {""}, {""}, {""}});
  EXPECT_EQ(twice.render(), "t\n");
}

// Without it a comma in a label would shift the columns of a spreadsheet, and "-" be taken for a value.
TEST(Table, CsvQuotesAndLeavesTheUnknownEmpty) {
  EXPECT_EQ(shown({.csv = true}), "a,n,z,more\nlong,1,,\"x,\"\"y\"\"\"\nx,200,end,\n");
  EXPECT_EQ(shown({.columns = {"graph", "n"}, .headers = false, .csv = true}), "##,1\n,200\n");
}

// Without it -o wide would leave columns out.
TEST(Table, WideShowsEverything) {
  EXPECT_EQ(shown({.wide = true}, 10), "A       N  Z    Z\nlong    1       x,\"y\"  ##\nx     200  end  -\n");
}

// Without it a column that only some machines have would stand empty on all others, or be missed by a script
// that counts columns.
TEST(Table, ASparseColumnIsSeenWhereARowHasIt) {
  const std::array columns{Column{.key = "a", .title = kA}, Column{.key = "n", .title = kN, .sparse = true},
                           Column{.key = "z", .title = kZ}};
  const auto shown = [&columns](const Table::Cell& cell, const TableView& view) {
    Table table(columns, {80, false, {}, wire::Language::kEnglish, view});
    table.add_row({{"x"}, unknown_cell(), {"end"}});
    table.add_row({{"y"}, cell, {"end"}});
    return table.render();
  };
  EXPECT_EQ(shown(unknown_cell(), {}), "A  Z\nx  end\ny  end\n");
  EXPECT_EQ(shown({"1"}, {}), "A  N  Z\nx  -  end\ny  1  end\n");
  EXPECT_EQ(shown(unknown_cell(), {.headers = false}), "x  -  end\ny  -  end\n");
  EXPECT_EQ(shown(unknown_cell(), {.columns = {"n"}}), "N\n-\n-\n");
  EXPECT_EQ(shown(unknown_cell(), {.csv = true}), "a,n,z\nx,,end\ny,,end\n");
}

}  // namespace
}  // namespace tangram::cli

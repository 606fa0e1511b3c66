// Laying out text for a terminal: display width, padding, tables, bars, ages, suggestions. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tangram::cli {

// What a renderer may know about the place where its text goes.
struct Canvas {
  std::size_t width = 80;
  bool colour = false;
  TimeMs now;  // ages are counted from here
};

enum class Tone : std::uint8_t { kPlain, kBold, kDim, kGood, kWarning, kBad };

// The text with ANSI colour around it, or as it is when the canvas has none.
std::string paint(const Canvas& canvas, Tone tone, std::string_view text);

// Columns on a terminal: UTF-8 code points, East Asian wide ones counted twice, control characters not at
// all.
std::size_t display_width(std::string_view text);

// For text that a stranger chose: control characters (escape sequences, line breaks) become '?'.
std::string printable(std::string_view text);

// Breaks at spaces so that no line is wider than `width`; a longer word stays whole. Lines after the first
// start with `indent` spaces.
std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent);

enum class Align : std::uint8_t { kLeft, kRight };

// Rows under a header, two spaces between columns, no spaces at line ends. Nothing is ever cut.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  struct Cell {
    std::string text;
    Tone tone = Tone::kPlain;
  };

  explicit Table(std::vector<Column> columns);

  // As many cells as columns.
  void add_row(std::vector<Cell> cells);
  // A line of free text under the row before, indented by `indent` and wrapped.
  void add_note(std::string text, std::size_t indent, Tone tone = Tone::kPlain);

  std::size_t width() const;
  std::string render(const Canvas& canvas) const;

 private:
  struct Line {
    std::vector<Cell> cells;  // empty: a note
    std::string note;
    std::size_t indent = 0;
    Tone tone = Tone::kPlain;
  };

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<Line> lines_;
};

// "####--" of `cells` characters; a part that is not zero shows at least one mark.
std::string bar(std::int64_t part, std::int64_t whole, std::size_t cells);

// One or two units, for ages: "42s", "5m", "3h10m", "2d4h". Negative spans count as 0.
std::string format_age(std::int64_t ms);

// "2026-11-29 15:22:27Z".
std::string format_time(TimeMs time);

// Gibibytes with one decimal where it is not whole: "16", "27.4". For table cells that say GiB in their
// title.
std::string format_gib(Bytes bytes);

// "1 job", "2 jobs".
std::string count_of(std::int64_t count, std::string_view singular);

// The candidate nearest to `word`, when it is near enough to be what was meant (at most two edits, and fewer
// than half of the letters).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace tangram::cli

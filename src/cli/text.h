// Laying out text for a terminal: display width, line breaks, bars, ages, suggestions. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "wire/language.h"

namespace tangram::cli {

// What somebody wants of a table, beside what it shows by itself.
struct TableView {
  std::vector<std::string> columns = {};  // by key, in this order; none: the usual ones
  bool headers = true;
  bool ids = false;   // nothing but the ids, one a line
  bool wide = false;  // every column, however wide it gets
  bool csv = false;   // every column (or those asked for) as RFC 4180, with a line of keys

  // Rows alone, without sentences between and behind them.
  bool is_bare() const { return !columns.empty() || !headers || ids || csv; }
  // Rows that a program reads: words in them are the same in every language.
  bool is_for_programs() const { return !headers || ids || csv; }
};

// What a renderer may know about the place where its text goes.
struct Canvas {
  std::size_t width = 80;
  bool colour = false;
  TimeMs now = {};  // ages are counted from here
  wire::Language language = wire::Language::kEnglish;
  TableView table = {};
  bool unicode = false;  // lines and corners may be more than ASCII
};

enum class Tone : std::uint8_t { kPlain, kBold, kDim, kGood, kWarning, kBad };

// The text with ANSI colour around it, or as it is when the canvas has none.
std::string paint(const Canvas& canvas, Tone tone, std::string_view text);

// Columns on a terminal: UTF-8 code points, East Asian wide ones counted twice, combining and control
// characters not at all.
std::size_t display_width(std::string_view text);

// For text that a stranger chose: what is not to be seen or turns the text around (escape sequences, line
// breaks, marks of direction) becomes '?'.
std::string printable(std::string_view text);

// Breaks at spaces, and beside East Asian wide characters (but not before a closing mark or behind an opening
// one), so that no line is wider than `width`; a longer word stays whole. Lines after the first start with
// `indent` spaces.
std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent);

// The same for a text that begins in column `column`: its further lines start there.
std::string hang_text(std::string_view text, std::size_t width, std::size_t column);

// "####--" of `cells` characters; a part that is not zero shows at least one mark.
std::string bar(std::int64_t part, std::int64_t whole, std::size_t cells);

// One or two units, for ages: "42s", "5m", "3h10m", "2d4h". Negative spans count as 0.
std::string format_age(std::int64_t ms);

// "2026-11-29 15:22:27Z".
std::string format_time(TimeMs time);

// Gibibytes with one decimal where it is not whole: "16", "27.4". For table cells that say GiB in their
// title.
std::string format_gib(Bytes bytes);

// The text for one or for another number, with {count} filled: "1 job", "2 jobs".
std::string count_of(std::int64_t count, const wire::Text& one, const wire::Text& more,
                     wire::Language language);

// The candidate nearest to `word`, when it is near enough to be what was meant (at most two edits, and fewer
// than half of the letters).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace tangram::cli

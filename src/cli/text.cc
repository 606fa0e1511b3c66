#include "cli/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "wire/nearest.h"

namespace tangram::cli {
namespace {

// One code point of UTF-8 and its length in bytes; a broken sequence counts as one byte of unknown meaning.
struct CodePoint {
  std::int32_t value = 0;
  std::size_t length = 1;
};

constexpr std::int32_t kBroken = 0xFFFD;

CodePoint decode(std::string_view text) {
  std::int32_t value = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &value);
  if (length <= 0) return {kBroken, 1};
  return {value, static_cast<std::size_t>(length)};
}

template <std::size_t kCount>
bool is_one_of(std::int32_t c, const std::array<utf8proc_category_t, kCount>& categories) {
  return std::ranges::find(categories, utf8proc_category(c)) != categories.end();
}

bool is_printable(std::int32_t c) {
  // Among format characters are marks of direction, which make one name look like another.
  static constexpr std::array kUnseen{UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CF, UTF8PROC_CATEGORY_CS,
                                      UTF8PROC_CATEGORY_ZL, UTF8PROC_CATEGORY_ZP};
  return c != kBroken && !is_one_of(c, kUnseen);
}

std::size_t width_of(std::int32_t c) {
  return is_printable(c) || c == kBroken ? static_cast<std::size_t>(utf8proc_charwidth(c)) : 0;
}

// Chinese sets no spaces: a line may end between any two characters, but a closing mark never stands first
// and an opening one never last.
bool may_break_between(std::int32_t left, std::int32_t right) {
  static constexpr std::array kOpening{UTF8PROC_CATEGORY_PS, UTF8PROC_CATEGORY_PI};
  static constexpr std::array kNeverFirst{UTF8PROC_CATEGORY_PE, UTF8PROC_CATEGORY_PF, UTF8PROC_CATEGORY_PO,
                                          UTF8PROC_CATEGORY_PD};
  if (width_of(left) < 2 && width_of(right) < 2) return false;
  return width_of(right) > 0 && !is_one_of(left, kOpening) && !is_one_of(right, kNeverFirst);
}

// The bytes of the first piece of the text that stays together: no space and no break in it.
std::size_t piece_length(std::string_view text) {
  std::size_t length = 0;
  std::int32_t before = 0;
  while (length < text.size() && text[length] != ' ') {
    const CodePoint point = decode(text.substr(length));
    if (length > 0 && may_break_between(before, point.value)) break;
    before = point.value;
    length += point.length;
  }
  return length;
}

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kBold:
      return "\x1b[1m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::string paint(const Canvas& canvas, Tone tone, std::string_view text) {
  if (!canvas.colour || tone == Tone::kPlain || text.empty()) return std::string(text);
  return std::string(escape_of(tone)) + std::string(text) + "\x1b[0m";
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = decode(text);
    width += width_of(point.value);
    text.remove_prefix(point.length);
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode(text);
    if (is_printable(point.value)) {
      result += text.substr(0, point.length);
    } else {
      result += '?';
    }
    text.remove_prefix(point.length);
  }
  return result;
}

std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  bool line_empty = true;
  while (true) {
    const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
    const bool spaced = start > 0 && !line_empty;
    text.remove_prefix(start);
    if (text.empty()) return result;
    const std::string_view piece = text.substr(0, piece_length(text));
    const std::size_t piece_width = display_width(piece);
    if (!line_empty && column + (spaced ? 1 : 0) + piece_width > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (spaced) {
      result += ' ';
      ++column;
    }
    result += piece;
    column += piece_width;
    line_empty = false;
    text.remove_prefix(piece.size());
  }
}

std::string hang_text(std::string_view text, std::size_t width, std::size_t column) {
  constexpr std::size_t kRoomLeast = 20;
  const std::size_t room = width > column + kRoomLeast ? width - column : kRoomLeast;
  std::string result;
  for (const char c : wrap_text(text, room, 0)) {
    result += c;
    if (c == '\n') result += std::string(column, ' ');
  }
  return result;
}

std::string bar(std::int64_t part, std::int64_t whole, std::size_t cells) {
  if (whole <= 0) return std::string(cells, '-');
  part = std::clamp<std::int64_t>(part, 0, whole);
  const double exact = static_cast<double>(part) / static_cast<double>(whole) * static_cast<double>(cells);
  auto full = static_cast<std::size_t>(std::lround(exact));
  if (part > 0 && full == 0) full = 1;
  return std::string(full, '#') + std::string(cells - full, '-');
}

std::string format_age(std::int64_t ms) {
  struct Unit {
    std::int64_t seconds;
    char letter;
  };
  static constexpr std::array<Unit, 4> kUnits{{{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}}};
  const std::int64_t seconds = std::max<std::int64_t>(ms, 0) / 1000;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (seconds < kUnits[i].seconds) continue;
    std::string text = std::to_string(seconds / kUnits[i].seconds) + kUnits[i].letter;
    // Minutes alone are exact enough for an age; hours and days want their next unit.
    const std::int64_t rest = i < 2 ? seconds % kUnits[i].seconds / kUnits[i + 1].seconds : 0;
    if (rest > 0) text += std::to_string(rest) + kUnits[i + 1].letter;
    return text;
  }
  return "0s";
}

std::string format_time(TimeMs time) {
  using std::chrono::days;
  using std::chrono::milliseconds;
  const std::chrono::sys_time<milliseconds> point{milliseconds(time.value)};
  const auto day = std::chrono::floor<days>(point);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::seconds>(point - day)};
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return std::to_string(static_cast<int>(date.year())) + '-' + two(static_cast<unsigned>(date.month())) +
         '-' + two(static_cast<unsigned>(date.day())) + ' ' + two(clock.hours().count()) + ':' +
         two(clock.minutes().count()) + ':' + two(clock.seconds().count()) + 'Z';
}

std::string format_gib(Bytes bytes) {
  constexpr std::int64_t kGib = 1LL << 30;
  const std::int64_t tenths = bytes.count / kGib * 10 + (bytes.count % kGib * 10 + kGib / 2) / kGib;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += '.' + std::to_string(tenths % 10);
  return text;
}

std::string count_of(std::int64_t count, const wire::Text& one, const wire::Text& more,
                     wire::Language language) {
  return wire::fill(count == 1 ? one : more, language, {{"count", std::to_string(count)}});
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = 3;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = wire::edit_distance(word, candidate);
    if (distance < best_distance && 2 * distance < std::max(candidate.size(), word.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace tangram::cli

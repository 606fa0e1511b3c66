#include "cli/text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/invariant.h"

namespace tangram::cli {
namespace {

// One code point of UTF-8 and its length in bytes; a broken sequence counts as one byte of unknown meaning.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;
};

CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(0);
  std::size_t length = 1;
  std::uint32_t value = first;
  if (first >= 0xF0 && first < 0xF8) {
    length = 4;
    value = first & 0x07U;
  } else if (first >= 0xE0) {
    length = 3;
    value = first & 0x0FU;
  } else if (first >= 0xC0) {
    length = 2;
    value = first & 0x1FU;
  }
  if (first < 0x80) return {first, 1};
  if (first < 0xC0 || first >= 0xF8 || text.size() < length) return {0xFFFD, 1};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {0xFFFD, 1};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  return {value, length};
}

bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

// The blocks of East Asian wide characters that texts in Chinese use.
bool is_wide(std::uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x20000 && c <= 0x3FFFD);
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

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

std::string padded(const Table::Cell& cell, std::size_t width, Align align, const Canvas& canvas) {
  const std::string space(width - display_width(cell.text), ' ');
  const std::string text = paint(canvas, cell.tone, cell.text);
  return align == Align::kLeft ? text + space : space + text;
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
    if (!is_control(point.value)) width += is_wide(point.value) ? 2 : 1;
    text.remove_prefix(point.length);
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode(text);
    if (is_control(point.value) || point.value == 0xFFFD) {
      result += '?';
    } else {
      result += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
  return result;
}

std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  bool line_empty = true;
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    const std::size_t word_width = display_width(word);
    if (!line_empty && column + 1 + word_width > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
      line_empty = true;
    }
    if (!line_empty) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word_width;
    line_empty = false;
    text.remove_prefix(word.size());
  }
  return result;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  widths_.reserve(columns_.size());
  for (const Column& column : columns_) widths_.push_back(display_width(column.title));
}

void Table::add_row(std::vector<Cell> cells) {
  TG_ASSERT(cells.size() == columns_.size(), "a row has as many cells as the table has columns");
  for (std::size_t i = 0; i < cells.size(); ++i)
    widths_[i] = std::max(widths_[i], display_width(cells[i].text));
  lines_.push_back({std::move(cells), {}, 0, Tone::kPlain});
}

void Table::add_note(std::string text, std::size_t indent, Tone tone) {
  lines_.push_back({{}, std::move(text), indent, tone});
}

std::size_t Table::width() const {
  std::size_t total = columns_.empty() ? 0 : 2 * (columns_.size() - 1);
  for (const std::size_t width : widths_) total += width;
  return total;
}

std::string Table::render(const Canvas& canvas) const {
  std::string result;
  const auto add_line = [&](const std::vector<Cell>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      const bool last = i + 1 == cells.size();
      const bool pad = !last || columns_[i].align == Align::kRight;
      line += pad ? padded(cells[i], widths_[i], columns_[i].align, canvas)
                  : paint(canvas, cells[i].tone, cells[i].text);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  std::vector<Cell> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back({column.title, Tone::kDim});
  add_line(titles);
  for (const Line& line : lines_) {
    if (!line.cells.empty()) {
      add_line(line.cells);
      continue;
    }
    const std::size_t room = canvas.width > line.indent ? canvas.width - line.indent : 1;
    const std::string wrapped = wrap_text(line.note, room, 0);
    std::size_t from = 0;
    while (from <= wrapped.size()) {
      const std::size_t to = std::min(wrapped.find('\n', from), wrapped.size());
      result += std::string(line.indent, ' ') +
                paint(canvas, line.tone, std::string_view(wrapped).substr(from, to - from)) + '\n';
      from = to + 1;
    }
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

std::string count_of(std::int64_t count, std::string_view singular) {
  return std::to_string(count) + ' ' + std::string(singular) + (count == 1 ? "" : "s");
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = 3;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && 2 * distance < std::max(candidate.size(), word.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace tangram::cli

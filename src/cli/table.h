// A table for people, or for programs as Canvas::table asks: chosen columns, bare rows, ids, CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text.h"
#include "wire/language.h"

namespace tangram::cli {

enum class Align : std::uint8_t { kLeft, kRight };

// A column that a command's table has. The key is what --columns takes, and never changes; the title does
// with the language.
struct Column {
  std::string_view key;
  wire::Text title;
  Align align = Align::kLeft;
  bool is_id = false;     // what --quiet prints; at most one
  bool extra = false;     // only shown when asked for, and with -o wide and csv
  bool drawing = false;   // for eyes only: not in -o csv, unless asked for
  bool untitled = false;  // speaks for itself
  bool sparse = false;    // people see it only where a row has it
};

// Rows under a header, two spaces between columns, no spaces at line ends. Nothing is ever cut.
class Table {
 public:
  struct Cell {
    std::string text;
    Tone tone = Tone::kPlain;
  };

  // `columns` must outlive the table. Keys of `canvas.table` that no column has are a bug: they are refused
  // before anything is asked.
  Table(std::span<const Column> columns, const Canvas& canvas);

  // As many cells as columns. Those that are not shown do not count for anything.
  void add_row(std::vector<Cell> cells);
  // A line of free text under the row before, indented by `indent` and wrapped. Bare tables have none.
  void add_note(std::string text, std::size_t indent, Tone tone = Tone::kPlain);

  std::size_t width() const;
  std::string render() const;

 private:
  struct Line {
    std::vector<Cell> cells;  // empty: a note
    std::string note;
    std::size_t indent = 0;
    Tone tone = Tone::kPlain;
  };

  std::vector<std::size_t> visible() const;  // of shown_
  std::string title_of(std::size_t column) const;
  std::string render_row(const std::vector<Cell>& cells, std::span<const std::size_t> visible) const;
  std::string render_note(const Line& line) const;
  std::string render_ids() const;
  std::string render_csv() const;

  std::span<const Column> columns_;
  Canvas canvas_;
  std::vector<std::size_t> shown_;  // indices of columns_, in the order of the rows
  std::vector<std::size_t> widths_;
  std::vector<bool> known_;  // whether a row has something there
  std::vector<Line> lines_;
};

// What is not known: a dash for people, an empty field in CSV.
Table::Cell unknown_cell();

// A moment. People read it as two words, programs as one (RFC 3339).
Table::Cell time_cell(const std::optional<TimeMs>& time, const Canvas& canvas);

}  // namespace tangram::cli

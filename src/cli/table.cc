#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"

namespace tangram::cli {
namespace {

constexpr std::string_view kUnknown = "-";

std::vector<std::size_t> shown_columns(std::span<const Column> columns, const TableView& view) {
  std::vector<std::size_t> shown;
  for (const std::string& key : view.columns) {
    const auto found = std::ranges::find(columns, key, &Column::key);
    TG_ASSERT(found != columns.end(), "a table is asked for a column that it does not have");
    shown.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  if (!shown.empty()) return shown;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool wanted = view.csv ? !columns[i].drawing : !columns[i].extra || view.wide;
    if (wanted) shown.push_back(i);
  }
  return shown;
}

// RFC 4180: quotes where they are needed, doubled inside.
std::string csv_field(std::string_view text) {
  if (text == kUnknown) return {};
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

}  // namespace

Table::Cell unknown_cell() {
  return {std::string(kUnknown), Tone::kDim};
}

Table::Cell time_cell(const std::optional<TimeMs>& time, const Canvas& canvas) {
  if (!time) return unknown_cell();
  std::string text = format_time(*time);
  if (canvas.table.is_for_programs()) std::ranges::replace(text, ' ', 'T');
  return {text};
}

Table::Table(std::span<const Column> columns, const Canvas& canvas)
    : columns_(columns),
      canvas_(canvas),
      shown_(shown_columns(columns, canvas.table)),
      widths_(columns.size(), 0),
      known_(columns.size(), false) {
  if (!canvas.table.headers) return;
  for (const std::size_t column : shown_) widths_[column] = display_width(title_of(column));
}

std::string Table::title_of(std::size_t column) const {
  if (columns_[column].untitled) return {};
  return std::string(columns_[column].title.in(canvas_.language));
}

void Table::add_row(std::vector<Cell> cells) {
  TG_ASSERT(cells.size() == columns_.size(), "a row has as many cells as the table has columns");
  for (const std::size_t i : shown_) {
    widths_[i] = std::max(widths_[i], display_width(cells[i].text));
    if (cells[i].text != kUnknown) known_[i] = true;
  }
  lines_.push_back({std::move(cells), {}, 0, Tone::kPlain});
}

void Table::add_note(std::string text, std::size_t indent, Tone tone) {
  if (!canvas_.table.is_bare()) lines_.push_back({{}, std::move(text), indent, tone});
}

std::vector<std::size_t> Table::visible() const {
  if (canvas_.table.is_bare()) return shown_;
  std::vector<std::size_t> visible;
  for (const std::size_t i : shown_) {
    if (!columns_[i].sparse || known_[i]) visible.push_back(i);
  }
  return visible;
}

std::size_t Table::width() const {
  const std::vector<std::size_t> visible = this->visible();
  std::size_t total = visible.empty() ? 0 : 2 * (visible.size() - 1);
  for (const std::size_t i : visible) total += widths_[i];
  return total;
}

std::string Table::render_row(const std::vector<Cell>& cells, std::span<const std::size_t> visible) const {
  std::string line;
  std::string_view gap;
  for (const std::size_t i : visible) {
    line += std::exchange(gap, "  ");
    const std::string space(widths_[i] - display_width(cells[i].text), ' ');
    const std::string text = paint(canvas_, cells[i].tone, cells[i].text);
    line += columns_[i].align == Align::kLeft ? text + space : space + text;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string Table::render_note(const Line& line) const {
  const std::size_t room = canvas_.width > line.indent ? canvas_.width - line.indent : 1;
  const std::string wrapped = wrap_text(line.note, room, 0);
  std::string text;
  std::size_t from = 0;
  while (from <= wrapped.size()) {
    const std::size_t to = std::min(wrapped.find('\n', from), wrapped.size());
    text += std::string(line.indent, ' ') +
            paint(canvas_, line.tone, std::string_view(wrapped).substr(from, to - from)) + '\n';
    from = to + 1;
  }
  return text;
}

std::string Table::render_ids() const {
  const auto id = std::ranges::find_if(columns_, [](const Column& column) { return column.is_id; });
  TG_ASSERT(id != columns_.end(), "a table without ids is asked for them");
  const auto index = static_cast<std::size_t>(id - columns_.begin());
  std::string text;
  std::string_view before;
  for (const Line& line : lines_) {
    // Several rows may speak of one thing; they stand together.
    if (line.cells.empty() || line.cells[index].text == before) continue;
    before = line.cells[index].text;
    text.append(before).append("\n");
  }
  return text;
}

std::string Table::render_csv() const {
  std::string text;
  const auto add_line = [&](const auto& field_of) {
    for (std::size_t i = 0; i < shown_.size(); ++i)
      text += (i > 0 ? "," : "") + csv_field(field_of(shown_[i]));
    text += '\n';
  };
  if (canvas_.table.headers) add_line([&](std::size_t column) { return columns_[column].key; });
  for (const Line& line : lines_) {
    if (!line.cells.empty())
      add_line([&](std::size_t column) { return std::string_view(line.cells[column].text); });
  }
  return text;
}

std::string Table::render() const {
  if (canvas_.table.ids) return render_ids();
  if (canvas_.table.csv) return render_csv();
  std::string text;
  const std::vector<std::size_t> visible = this->visible();
  if (canvas_.table.headers) {
    std::vector<Cell> titles;
    titles.reserve(columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) titles.push_back({title_of(i), Tone::kDim});
    text += render_row(titles, visible);
  }
  for (const Line& line : lines_)
    text += line.cells.empty() ? render_note(line) : render_row(line.cells, visible);
  return text;
}

}  // namespace tangram::cli

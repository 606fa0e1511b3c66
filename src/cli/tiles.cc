#include "cli/tiles.h"

#include <algorithm>
#include <string_view>

namespace tangram::cli {
namespace {

struct Strokes {
  std::string_view across, up_left, up, up_right, side, down_left, down, down_right;
};
constexpr Strokes kLines{"─", "┌", "┬", "┐", "│", "└", "┴", "┘"};
constexpr Strokes kAscii{"-", "+", "+", "+", "|", "+", "+", "+"};
constexpr std::size_t kLineMin = 3;  // one cell between two sides

std::size_t cells_of(const Tile& tile) {
  return static_cast<std::size_t>(std::max<std::int64_t>(tile.cores, 1));
}

std::size_t width_of(const std::vector<Tile>& tiles, std::size_t cell) {
  std::size_t width = 1;
  for (const Tile& tile : tiles) width += cells_of(tile) * cell + 1;
  return width;
}

// A part of a tile on one line.
struct Piece {
  const Tile* tile = nullptr;
  std::size_t cells = 0;
};

// Broken where the line is full.
std::vector<std::vector<Piece>> lay_out(const std::vector<Tile>& tiles, std::size_t width, std::size_t cell) {
  std::vector<std::vector<Piece>> lines(1);
  std::size_t used = 1;
  for (const Tile& tile : tiles) {
    std::size_t left = cells_of(tile);
    while (left > 0) {
      const std::size_t room = width > used + 1 ? (width - used - 1) / cell : 0;
      if (room == 0 && !lines.back().empty()) {
        lines.emplace_back();
        used = 1;
        continue;
      }
      const std::size_t cells = std::min(left, std::max<std::size_t>(room, 1));
      lines.back().push_back({&tile, cells});
      used += cells * cell + 1;
      left -= cells;
    }
  }
  return lines;
}

std::string border(const std::vector<Piece>& line, std::size_t cell, const Strokes& strokes, bool above) {
  std::string text(above ? strokes.up_left : strokes.down_left);
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (std::size_t n = 0; n < line[i].cells * cell; ++n) text += strokes.across;
    const bool last = i + 1 == line.size();
    text += above ? (last ? strokes.up_right : strokes.up) : (last ? strokes.down_right : strokes.down);
  }
  return text;
}

std::string body(const std::vector<Piece>& line, std::size_t cell, const Strokes& strokes,
                 const Canvas& canvas) {
  std::string text(strokes.side);
  for (const Piece& piece : line) {
    std::string cells;
    for (std::size_t n = 0; n < piece.cells; ++n) {
      cells += piece.tile->letter;
      if (cell > 1) cells += piece.tile->mark;
    }
    text += paint(canvas, piece.tile->tone, cells);
    text += strokes.side;
  }
  return text;
}

}  // namespace

std::vector<std::string> draw_tiles(const std::vector<Tile>& tiles, std::size_t width, const Canvas& canvas) {
  if (tiles.empty()) return {};
  const Strokes& strokes = canvas.unicode ? kLines : kAscii;
  const std::size_t line_width = std::max(width, kLineMin);
  const std::size_t cell = width_of(tiles, 2) <= line_width ? 2 : 1;
  std::vector<std::string> drawn;
  for (const std::vector<Piece>& line : lay_out(tiles, line_width, cell)) {
    drawn.push_back(border(line, cell, strokes, true));
    drawn.push_back(body(line, cell, strokes, canvas));
    drawn.push_back(border(line, cell, strokes, false));
  }
  return drawn;
}

}  // namespace tangram::cli

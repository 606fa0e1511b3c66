// One NPU drawn as a row of tiles: a cell for each AI core, a tile for each slice. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/text.h"

namespace tangram::cli {

struct Tile {
  std::int64_t cores = 1;  // how wide it is; 0 is drawn as 1
  char letter = '.';       // in each of its cells; '.': free
  char mark = ' ';         // behind the letter, where there is room: '!' nobody's, '?' somebody else's
  Tone tone = Tone::kPlain;
};

// Lines of at most `width` columns, the canvas's own marks of lines, or ASCII; as many lines as that takes.
// Cells are two columns wide where they all fit on one line so, else one. A tile too wide for a line goes on
// in the next, open at that side.
std::vector<std::string> draw_tiles(const std::vector<Tile>& tiles, std::size_t width, const Canvas& canvas);

}  // namespace tangram::cli

#include "net/line_splitter.h"

#include <utility>

namespace tangram::net {
namespace {

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

LineSplitter::Verdict LineSplitter::take(std::string_view piece,
                                         const std::function<bool(std::string_view)>& on_line) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (begun_.size() + part.size() > line_bytes_max_) return Verdict::kTooLong;
    if (end == std::string_view::npos) {
      begun_.append(part);
      return Verdict::kMore;
    }
    piece.remove_prefix(end + 1);
    // A line that lies whole in the piece is given from there, without a copy.
    std::string whole;
    std::string_view line = part;
    if (!begun_.empty()) {
      whole = std::move(begun_);
      begun_.clear();
      whole.append(part);
      line = whole;
    }
    line = without_return(line);
    if (!line.empty() && !on_line(line)) return Verdict::kEnough;
  }
  return Verdict::kMore;
}

}  // namespace tangram::net

// Cuts a stream that arrives in pieces into its lines. Knows nothing of sockets; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tangram::net {

class LineSplitter {
 public:
  enum class Verdict : std::uint8_t {
    kMore,     // all lines that are whole were given
    kEnough,   // `on_line` returned false
    kTooLong,  // a line is longer than the limit; no more calls
  };

  // A line may have so many bytes without its end.
  explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  // Gives each line that is whole, without its line feed (and a carriage return before it), in order. The
  // view is valid during the call. Empty lines are passed over.
  Verdict take(std::string_view piece, const std::function<bool(std::string_view)>& on_line);

  // Bytes of a line whose end has not come.
  std::size_t pending() const { return begun_.size(); }

 private:
  const std::size_t line_bytes_max_;
  std::string begun_;
};

}  // namespace tangram::net

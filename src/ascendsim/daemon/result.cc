#include "ascendsim/daemon/result.h"

#include <cstdio>
#include <ctime>
#include <system_error>

namespace ascendsim {

Problem system_problem(std::string_view what, int error_number) {
  return std::string(what) + ": " + std::generic_category().message(error_number);
}

void log_info(std::string_view message) {
  std::fprintf(stderr, "ascendsimd: %.*s\n", static_cast<int>(message.size()), message.data());
}

void log_warning(std::string_view message) {
  std::fprintf(stderr, "ascendsimd: warning: %.*s\n", static_cast<int>(message.size()), message.data());
}

void log_provoked(std::string_view message) {
  constexpr int kLinesPerSecond = 5;
  static std::time_t second = 0;
  static int lines = 0;
  const std::time_t now = std::time(nullptr);
  if (now != second) {
    if (lines > kLinesPerSecond) log_warning(std::to_string(lines - kLinesPerSecond) + " more like that");
    second = now;
    lines = 0;
  }
  if (++lines <= kLinesPerSecond) log_warning(message);
}

}  // namespace ascendsim

#include "ascendsim/daemon/result.h"

#include <cstdio>
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

}  // namespace ascendsim

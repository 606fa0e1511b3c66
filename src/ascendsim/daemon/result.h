// The simulated driver's own error and log: it shares neither with the product.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace ascendsim {

// One sentence, lower case, that names the object, the value and what would be right.
using Problem = std::string;

template <class T>
using Result = tl::expected<T, Problem>;

inline tl::unexpected<Problem> fail(Problem problem) {
  return tl::unexpected<Problem>(std::move(problem));
}

// "cannot open /x: no such file or directory"
Problem system_problem(std::string_view what, int error_number);

// Lines on standard error, as the kernel log would have them.
void log_info(std::string_view message);
void log_warning(std::string_view message);
// For what a stranger can provoke as often as it likes: at most a few lines a second, then how many were left
// out.
void log_provoked(std::string_view message);

}  // namespace ascendsim

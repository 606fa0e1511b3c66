// `tangram`: gives the command line the process's environment and terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/standard_files.h"
#include "cli/app.h"
#include "cli/locale.h"

namespace {

constexpr std::size_t kWidthLeast = 40;

// Empty when it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool wants_colour(int descriptor) {
  return variable("NO_COLOR").empty() && variable("TERM") != "dumb" && isatty(descriptor) == 1;
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col < kWidthLeast ? kWidthLeast : size.ws_col;
}

}  // namespace

int main(int argc, char** argv) {
  tangram::occupy_standard_files();
  std::ios::sync_with_stdio(false);
  const tangram::cli::Environment environment{tangram::client::remote_environment(),
                                              tangram::cli::locale_of_messages()};
  tangram::cli::Streams streams{std::cin,
                                std::cout,
                                std::cerr,
                                wants_colour(STDOUT_FILENO),
                                wants_colour(STDERR_FILENO),
                                terminal_width(),
                                isatty(STDOUT_FILENO) == 1,
                                tangram::cli::is_utf8(tangram::cli::locale_of_letters())};
  return tangram::cli::run(std::vector<std::string>(argv + 1, argv + argc), environment, streams);
}

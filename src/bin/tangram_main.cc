// `tangram`: gives the command line the process's environment and terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/standard_files.h"
#include "cli/app.h"

namespace {

constexpr std::size_t kWidthLeast = 40;

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && no_colour[0] != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string(terminal) == "dumb") return false;
  return isatty(descriptor) == 1;
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
  const char* socket = std::getenv("TANGRAM_SOCKET");
  const tangram::cli::Environment environment{socket == nullptr ? "" : socket};
  tangram::cli::Streams streams{
      std::cin,        std::cout, std::cerr, wants_colour(STDOUT_FILENO), wants_colour(STDERR_FILENO),
      terminal_width()};
  return tangram::cli::run(std::vector<std::string>(argv + 1, argv + argc), environment, streams);
}

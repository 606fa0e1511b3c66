// tangram-man PAGE [zh]: a manual page on standard output. For the build.
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/man_page.h"

int main(int argc, char** argv) {
  const std::string_view page = argc > 1 ? argv[1] : "";
  const auto language = tangram::wire::language_of(argc > 2 ? argv[2] : "");
  std::string text;
  if (page == "tangram.1") text = tangram::cli::man_page_of_tangram(language, TANGRAM_VERSION);
  if (page == "tangramd.8") text = tangram::cli::man_page_of_tangramd(language, TANGRAM_VERSION);
  if (text.empty()) {
    std::fputs("usage: tangram-man tangram.1|tangramd.8 [zh]\n", stderr);
    return 2;
  }
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

// docs/cli.md against the tables: what the page must have.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "cli/global_options.h"

namespace tangram::cli {
namespace {

std::string page() {
  const std::ifstream file(std::string(TANGRAM_SOURCE_DIR) + "/docs/cli.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The line of a table that begins with the text.
std::string line_of(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find("\n" + begin);
  if (at == std::string::npos) return {};
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

// Without it a command, a column or a format could be added, and the page not say so.
TEST(Docs, ThePageHasEveryCommandColumnAndFormat) {
  const std::string text = page();
  ASSERT_FALSE(text.empty());
  for (const Command* command : commands()) {
    const std::string name(command->name);
    EXPECT_NE(text.find("\n| `" + name), std::string::npos) << name;
    if (command->columns == nullptr) continue;
    const std::string columns = line_of(text, "| `" + name + "` | `");
    for (const Column& column : command->columns()) {
      const std::string key = "`" + std::string(column.key) + "`";
      EXPECT_NE(columns.find(column.extra ? "*" + key + "*" : " " + key), std::string::npos)
          << name << " " << key;
    }
  }
  for (const Option& option : table_options())
    EXPECT_NE(text.find(option.name), std::string::npos) << option.name;
  for (const Option& option : global_options())
    EXPECT_NE(text.find(option.name), std::string::npos) << option.name;
  for (const std::string_view format : kFormats)
    EXPECT_NE(text.find("`" + std::string(format) + "`"), std::string::npos) << format;
}

}  // namespace
}  // namespace tangram::cli

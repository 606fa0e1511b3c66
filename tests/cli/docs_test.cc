// docs/cli.md and the exit codes of docs/api.md against the tables and the program: what the pages must have.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "cli/command.h"
#include "cli/fake_daemon.h"
#include "cli/global_options.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

std::string page(const std::string& name = "cli.md") {
  const std::ifstream file(std::string(TANGRAM_SOURCE_DIR) + "/docs/" + name);
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

// What a cell says: "409; 410 for `events.cursor.gone`", "413 for `input.too_large`, else 429",
// "1, or 3 when the reason is `quota.*`".
struct Numbers {
  int otherwise = -1;
  std::map<std::string, int> by_reason;
};

Numbers read_cell(const std::string& cell) {
  static const std::regex clause("([0-9]+)([^0-9]*)");
  static const std::regex reason("`([^`]+)`");
  Numbers numbers;
  for (std::sregex_iterator at(cell.begin(), cell.end(), clause), end; at != end; ++at) {
    const int number = std::stoi((*at)[1].str());
    const std::string words = (*at)[2].str();
    std::sregex_iterator named(words.begin(), words.end(), reason);
    if (named == end) numbers.otherwise = number;
    for (; named != end; ++named) numbers.by_reason[(*named)[1].str()] = number;
  }
  return numbers;
}

struct CodeRow {
  Numbers status;
  Numbers exit;
};

// Of docs/api.md: | `code`, `code` | status | exit code of `tangram` | meaning |.
std::map<std::string, CodeRow> documented_codes() {
  static const std::regex row(R"(\n\| (`[a-z_`, ]+`) \| ([0-9][^|]*) \| ([0-9][^|]*) \|)");
  static const std::regex name("`([a-z_]+)`");
  const std::string text = page("api.md");
  std::map<std::string, CodeRow> rows;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
    const std::string names = (*at)[1].str();
    for (std::sregex_iterator code(names.begin(), names.end(), name); code != end; ++code)
      rows[(*code)[1].str()] = {read_cell((*at)[2].str()), read_cell((*at)[3].str())};
  }
  return rows;
}

class CodesOfTheApi : public FakeDaemon {
 protected:
  static int status_of(Code code, const std::string& reason) {
    return wire::http_status({code, reason, "no", "", {}, nullptr});
  }
  int exit_of(Code code, const std::string& reason) {
    const Error error{code, reason, "no", "", {}, nullptr};
    route = [&](const net::Request&) {
      return net::Response{wire::http_status(error), {}, wire::write_problem(error)};
    };
    return tangram({"status"}).code;
  }
};

// Without it the page could promise a script an exit status that the program does not end with, or a status
// of HTTP that no answer has.
TEST_F(CodesOfTheApi, AreThoseOfThePage) {
  std::map<std::string, CodeRow> rows = documented_codes();
  for (int n = 0; n <= static_cast<int>(Code::kInternal); ++n) {
    const auto code = static_cast<Code>(n);
    const auto row = rows.extract(std::string(to_string(code)));
    ASSERT_FALSE(row.empty()) << to_string(code);
    const auto& [status, exit_code] = row.mapped();
    EXPECT_EQ(status.otherwise, status_of(code, "some.reason")) << row.key();
    EXPECT_EQ(exit_code.otherwise, exit_of(code, "some.reason")) << row.key();
    for (const auto& [reason, number] : status.by_reason)
      EXPECT_EQ(number, status_of(code, reason)) << reason;
    for (const auto& [reason, number] : exit_code.by_reason)
      EXPECT_EQ(number, exit_of(code, reason == "quota.*" ? "quota.npus.exceeded" : reason)) << reason;
  }
  EXPECT_TRUE(rows.empty()) << rows.begin()->first << " is no code";
}

// Without it docs/cli.md could leave out an exit code, or explain one that is never given.
TEST(Docs, EveryExitCodeHasItsLine) {
  const std::string text = page();
  const std::size_t begin = text.find("## Exit codes");
  ASSERT_NE(begin, std::string::npos);
  std::set<int> written;
  const std::regex row(R"(\n\| ([0-9]+) \|)");
  for (std::sregex_iterator at(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), row), end;
       at != end; ++at)
    written.insert(std::stoi((*at)[1].str()));
  EXPECT_EQ(written, (std::set<int>{wire::kExitOk, wire::kExitNo, wire::kExitBadInput, wire::kExitRefused,
                                    wire::kExitNotFound, wire::kExitNotAllowed, wire::kExitUnavailable,
                                    wire::kExitConflict, wire::kExitBug}));
}

}  // namespace
}  // namespace tangram::cli

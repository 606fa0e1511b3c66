// The documentation of the API is made from the tables; this fails when it has become stale.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "wire/schema.h"
#include "wire/texts.h"

namespace tangram::wire {
namespace {

const std::filesystem::path kSource = TANGRAM_SOURCE_DIR;
constexpr std::string_view kBegin = "<!-- fields: made from src/wire, do not edit -->\n";
constexpr std::string_view kEnd = "<!-- end of fields -->\n";

std::string read_file(const std::filesystem::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string cell(std::string text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string made_from_tables() {
  std::string text;
  for (const DocumentInfo& document : documents()) {
    text +=
        "\n### " + document.name + "\n\n" + document.doc + "\n\n| field | type | | |\n|---|---|---|---|\n";
    for (const FieldInfo& field : document.fields) {
      text += "| `" + field.name + "` | " + cell(field.type) + " | " + (field.required ? "required" : "") +
              " | " + cell(field.doc) + " |\n";
    }
  }
  return text + '\n';
}

// Without it docs/api.md would describe fields that are not there, and miss those that are.
// TANGRAM_UPDATE_DOCS=1 writes the section anew.
TEST(Docs, FieldsOfTheApiAreUpToDate) {
  const std::filesystem::path path = kSource / "docs" / "api.md";
  const std::string page = read_file(path);
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << "docs/api.md has lost the line " << kBegin;
  ASSERT_NE(end, std::string::npos) << "docs/api.md has lost the line " << kEnd;
  const std::size_t first = begin + kBegin.size();
  const std::string wanted = made_from_tables();
  if (std::getenv("TANGRAM_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << page.substr(0, first) << wanted << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(first, end - first), wanted)
      << "docs/api.md is stale: run TANGRAM_UPDATE_DOCS=1 test_wire --gtest_filter='Docs.*'";
}

// Without it a field could be named in a table and be a riddle to whoever reads the page.
TEST(Docs, EveryFieldIsExplainedOnce) {
  std::set<std::string> names;
  for (const DocumentInfo& document : documents()) {
    EXPECT_TRUE(names.insert(document.name).second) << document.name;
    EXPECT_FALSE(document.doc.empty()) << document.name;
    std::set<std::string> fields;
    for (const FieldInfo& field : document.fields) {
      EXPECT_TRUE(fields.insert(field.name).second) << document.name << '.' << field.name;
      EXPECT_FALSE(field.type.empty() || field.doc.empty()) << document.name << '.' << field.name;
    }
  }
}

// Without it the core could refuse a request with a token that no catalogue explains.
TEST(Docs, EveryTokenOfTheCoreIsInTheCatalogue) {
  const std::regex token(R"tok(fail\(\s*Code::\w+,\s*"([a-z_]+(?:\.[a-z_]+)+)")tok");
  for (const char* folder : {"model", "quota", "queue", "placement", "scheduler"}) {
    const std::filesystem::path path = kSource / "src" / folder;
    if (!std::filesystem::exists(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() != ".cc") continue;
      const std::string text = read_file(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), token), end; at != end; ++at) {
        EXPECT_NE(find_reason((*at)[1].str()), nullptr) << entry.path() << ": " << (*at)[1].str();
      }
    }
  }
}

// Without it a quota dimension or a state could be called one thing here and another on the next surface.
TEST(Docs, GlossaryHasEveryWord) {
  const std::string page = read_file(kSource / "docs" / "glossary.md");
  for (int n = 0; n < kDimensionCount; ++n) {
    EXPECT_NE(page.find('`' + std::string(to_string(static_cast<Dimension>(n))) + '`'), std::string::npos)
        << n;
  }
  for (int n = 0; n <= static_cast<int>(JobState::kEnded); ++n) {
    EXPECT_NE(page.find('`' + std::string(to_string(static_cast<JobState>(n))) + '`'), std::string::npos)
        << n;
  }
  for (int n = 0; n <= static_cast<int>(Outcome::kRefused); ++n) {
    EXPECT_NE(page.find('`' + std::string(to_string(static_cast<Outcome>(n))) + '`'), std::string::npos) << n;
  }
}

}  // namespace
}  // namespace tangram::wire

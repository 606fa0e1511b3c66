#include "cli/man_page.h"

#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/daemon_options.h"
#include "cli/roff.h"

namespace tangram::cli {
namespace {

// Without it a name that begins a line with a dot, or a backslash, would command the formatter.
TEST(Roff, EscapesWhatWouldBeACommand) {
  EXPECT_EQ(roff_escaped(".x\n'y\\z -a"), "\\&.x\n\\&\\(aqy\\ez \\-a");
  EXPECT_EQ(roff_escaped("a.b ^ ~ `c`"), "a.b \\(ha \\(ti \\(gac\\(ga");
  const RoffPage page("x", 1, "1 \"beta\"", "Manual");
  EXPECT_NE(page.text().find("\"1 \\(dqbeta\\(dq\""), std::string::npos) << page.text();
}

// Without it the manual could lack a command or an option that the program takes.
TEST(ManPage, HasEveryCommandAndOptionInBothLanguages) {
  for (const wire::Language language : {wire::Language::kEnglish, wire::Language::kChinese}) {
    const std::string page = man_page_of_tangram(language, "1.2.3");
    EXPECT_NE(page.find("Tangram 1.2.3"), std::string::npos);
    for (const Command* command : commands()) {
      const std::size_t at = page.find(".SS \"tangram " + std::string(command->name) + '"');
      ASSERT_NE(at, std::string::npos) << command->name;
      EXPECT_NE(page.find(roff_escaped(command->summary.in(language)), at), std::string::npos)
          << command->name;
      for (const Option& option : command->options)
        EXPECT_NE(page.find(roff_escaped(option.name), at), std::string::npos) << option.name;
    }
    for (const Option& option : global_options())
      EXPECT_NE(page.find(roff_escaped(option.about.in(language))), std::string::npos) << option.name;
    const std::string daemon_page = man_page_of_tangramd(language, "1.2.3");
    for (const Option& option : daemon::kOptions)
      EXPECT_NE(daemon_page.find(roff_escaped(option.name)), std::string::npos) << option.name;
  }
}

}  // namespace
}  // namespace tangram::cli

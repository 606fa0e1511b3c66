#include "cli/line_reader.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/global_options.h"

namespace tangram::cli {
namespace {

constexpr wire::Language kEnglish = wire::Language::kEnglish;

LineReader read(const std::vector<std::string>& words) {
  const Result<LineReader> line = read_line(words, kEnglish);
  EXPECT_TRUE(line) << line.error().to_string();
  return line.value_or(LineReader(kEnglish));
}

std::string refusal(const std::vector<std::string>& words) {
  const Result<LineReader> line = read_line(words, kEnglish);
  return line ? "" : line.error().message + " / " + line.error().hint;
}

const Option& option(const std::string& command, std::string_view name) {
  for (const Option* one : options_of(find_command(command))) {
    if (one->name == name) return *one;
  }
  ADD_FAILURE() << command << " has no " << name;
  return kHelpOption;
}

// Without it an option could be written in a way that shells' users know, and not be understood.
TEST(LineReader, ValuesStandBehindAnEqualsSignOrInTheNextWord) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"apply", "--file", "x"}, {"apply", "--file=x"}, {"apply", "-f", "x"}, {"apply", "-fx"}}) {
    EXPECT_EQ(read(words).arguments().text(option("apply", "--file")), "x") << words[1];
  }
  EXPECT_EQ(read({"apply", "--file=a=b"}).arguments().text(option("apply", "--file")), "a=b");
  EXPECT_EQ(read({"apply", "-f", "-"}).arguments().text(option("apply", "--file")), "-");
  // The value is taken as it is, also when it looks like an option: what it means is checked later.
  EXPECT_EQ(read({"submit", "--npus", "-1", "--", "x"}).arguments().text(option("submit", "--npus")), "-1");
}

// Without it two flags in one word would be an unknown option.
TEST(LineReader, FlagsMayShareAWord) {
  const LineReader line = read({"logs", "-fojson", "j-1"});
  EXPECT_TRUE(line.arguments().has(option("logs", "--follow")));
  EXPECT_EQ(line.arguments().text(kOutputOption), "json");
}

// Without it an alias of the shell could not set a format that the line overrules.
TEST(LineReader, GlobalOptionsStandAnywhereAndTheLastOneCounts) {
  EXPECT_EQ(read({"-o", "json", "status"}).arguments().text(kOutputOption), "json");
  EXPECT_EQ(read({"-o", "json", "status", "-o", "yaml"}).arguments().text(kOutputOption), "yaml");
  EXPECT_EQ(read({"tenant", "-o", "json", "delete", "x"}).command(), find_command("tenant delete"));
}

// Without it a job could not be named like an option, and a program's options would be ours.
TEST(LineReader, DashesEndTheOptions) {
  EXPECT_EQ(read({"describe", "--", "-x"}).arguments().text(option("describe", "JOB")), "-x");
  const LineReader submit = read({"submit", "--name", "a", "--", "sh", "-c", "--", "--help"});
  EXPECT_EQ(submit.arguments().program(), (std::vector<std::string>{"sh", "-c", "--", "--help"}));
  EXPECT_FALSE(submit.arguments().has(kHelpOption));
}

// Without it a slip would be taken for something that was not meant.
TEST(LineReader, RefusesWithTheWordAndARemedy) {
  EXPECT_EQ(refusal({"queue", "--tenat", "x"}),
            "'--tenat' is no option of tangram queue / did you mean: --tenant");
  EXPECT_EQ(refusal({"queue", "-z"}), "'-z' is no option of tangram queue / see: tangram queue --help");
  EXPECT_EQ(refusal({"queue", "--all=yes"}), "--all takes no value / see: tangram queue --help");
  EXPECT_EQ(refusal({"queue", "--tenant"}), "--tenant needs a value / see: tangram queue --help");
  EXPECT_EQ(refusal({"queue", "--tenant", "a", "--tenant", "b"}),
            "--tenant is given twice / keep one of them");
  EXPECT_EQ(refusal({"queue", "--state", "runing"}),
            "--state must be one of ready, waiting, starting, running, ended, not 'runing' / did you mean: "
            "running");
  EXPECT_EQ(refusal({"wait"}), "JOB is missing / see: tangram wait --help");
  EXPECT_EQ(refusal({"tenant", "delte"}),
            "'delte' is no command of tangram tenant / did you mean: tangram tenant delete");
  EXPECT_EQ(refusal({"--all"}), "'--all' is no option of tangram / see: tangram --help");
}

// Without it help would only be shown for a line that is right.
TEST(LineReader, HelpNeedsNothingElse) {
  EXPECT_EQ(read({"wait", "--help"}).command(), find_command("wait"));
  EXPECT_EQ(read({"tenant", "-h"}).group(), find_group("tenant"));
  EXPECT_EQ(read({"--help"}).command(), nullptr);
}

// Without it a command could shadow another one, or an option stand twice in a command.
TEST(CommandTable, NamesAreUniqueAndOptionsToo) {
  std::set<std::string_view> names;
  for (const Command* command : commands()) {
    EXPECT_TRUE(names.insert(command->name).second) << command->name;
    const std::size_t space = command->name.find(' ');
    if (space != std::string_view::npos) {
      EXPECT_NE(find_group(command->name.substr(0, space)), nullptr) << command->name;
    }
    std::set<std::string_view> options;
    std::set<char> letters;
    bool positional_ended = false;
    for (const Option* one : options_of(command)) {
      EXPECT_TRUE(options.insert(one->name).second) << command->name << " " << one->name;
      if (one->letter != 0) {
        EXPECT_TRUE(letters.insert(one->letter).second) << command->name << " -" << one->letter;
      }
      EXPECT_EQ(one->completes == Completes::kChoice, !one->choices.empty()) << one->name;
      if (!one->is_positional()) continue;
      EXPECT_FALSE(positional_ended) << "an argument behind one that takes all the rest";
      positional_ended = one->repeatable;
    }
  }
  for (const CommandGroup& group : command_groups())
    EXPECT_TRUE(names.insert(group.name).second) << group.name;
}

// Without it --quiet could be offered for a table that has nothing to print for it, or two columns have one
// name.
TEST(CommandTable, EveryTableHasAnIdAndDistinctKeys) {
  for (const Command* command : commands()) {
    if (command->columns == nullptr) continue;
    int ids = 0;
    std::set<std::string_view> keys;
    for (const Column& column : command->columns()) {
      ids += column.is_id ? 1 : 0;
      EXPECT_TRUE(keys.insert(column.key).second) << column.key;
      EXPECT_EQ(column.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos)
          << column.key;
    }
    EXPECT_EQ(ids, 1) << command->name;
  }
}

}  // namespace
}  // namespace tangram::cli

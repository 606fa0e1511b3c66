#include "cli/help.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/text.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;
using wire::Language;

using Rows = std::vector<std::pair<std::string, std::string>>;

// Two columns under a title; what the right one says goes on under itself.
std::string section(std::string_view title, const Rows& rows, std::size_t width) {
  constexpr std::size_t kIndent = 2;
  constexpr std::size_t kLeftMost = 28;
  if (rows.empty()) return {};
  std::size_t left = 0;
  for (const auto& [name, about] : rows) left = std::max(left, std::min(display_width(name), kLeftMost));
  const std::size_t column = kIndent + left + 2;
  std::string text = '\n' + std::string(title) + '\n';
  for (const auto& [name, about] : rows) {
    text += std::string(kIndent, ' ') + name;
    const std::size_t used = kIndent + display_width(name);
    text += used + 2 > column ? '\n' + std::string(column, ' ') : std::string(column - used, ' ');
    text += hang_text(about, width, column) + '\n';
  }
  return text;
}

Rows rows_of(std::span<const Option> options, bool positional, Language language) {
  Rows rows;
  for (const Option& option : options) {
    if (option.is_positional() == positional)
      rows.emplace_back(spelling_of(option), option.about.in(language));
  }
  return rows;
}

// The names of the columns; those that only -o wide shows stand in brackets.
std::string columns_section(const Command& command, Language language, std::size_t width) {
  std::string names;
  for (const Column& column : command.columns()) {
    const std::string key(column.key);
    names += (names.empty() ? "" : ", ") + (column.extra ? "[" + key + "]" : key);
  }
  return '\n' + std::string(help::kColumns.in(language)) + "\n  " + hang_text(names, width, 2) + '\n';
}

std::string head(std::string_view summary, std::string_view usage, Language language, std::size_t width) {
  return wrap_text(summary, width, 0) + "\n\n" +
         wrap_text(std::string(help::kUsage.in(language)).append(usage), width, 4) + '\n';
}

}  // namespace

std::string spelling_of(const Option& option) {
  std::string text;
  if (option.letter != 0) text.append("-").append(1, option.letter).append(", ");
  text += option.name;
  return option.value.empty() ? text : text.append(" ").append(option.value);
}

std::string usage_of(const Command& command) {
  std::string usage = "tangram " + std::string(command.name) + " [OPTIONS]";
  for (const Option& option : command.options) {
    if (!option.is_positional() && !option.required) continue;
    std::string word = option.is_positional() ? std::string(option.name)
                                              : std::string(option.name).append(" ").append(option.value);
    if (option.repeatable) word += "...";
    usage += option.required ? ' ' + word : " [" + word + ']';
  }
  if (command.program == nullptr) return usage;
  return usage + (command.program_optional ? " [-- PROGRAM [ARGUMENT...]]" : " -- PROGRAM [ARGUMENT...]");
}

std::string help_of(const Command& command, Language language, std::size_t width) {
  std::string text = head(command.summary.in(language), usage_of(command), language, width);
  Rows positional = rows_of(command.options, true, language);
  if (command.program != nullptr) positional.emplace_back("PROGRAM", command.program->in(language));
  text += section(help::kArguments.in(language), positional, width);
  text += section(help::kOptions.in(language), rows_of(command.options, false, language), width);
  if (command.columns != nullptr)
    text += section(help::kTableOptions.in(language), rows_of(table_options(), false, language), width);
  text += section(help::kGlobalOptions.in(language), rows_of(global_options(), false, language), width);
  if (command.columns != nullptr) text += columns_section(command, language, width);
  if (command.more != nullptr) text += '\n' + wrap_text(command.more->in(language), width, 0) + '\n';
  if (command.examples.empty()) return text;
  text += '\n' + std::string(help::kExamples.in(language)) + '\n';
  std::string_view lines = command.examples;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += "  " + std::string(lines.substr(0, end)) + '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

std::string help_of_options(std::string_view title, std::span<const Option> options, Language language,
                            std::size_t width) {
  return section(title, rows_of(options, false, language), width);
}

std::string help_of(const CommandGroup& group, Language language, std::size_t width) {
  const std::string name = "tangram " + std::string(group.name);
  std::string text = head(group.summary.in(language), name + " [OPTIONS] COMMAND", language, width);
  Rows rows;
  for (const Command* command : commands()) {
    if (!command->name.starts_with(std::string(group.name) + ' ')) continue;
    rows.emplace_back(command->name.substr(group.name.size() + 1), command->summary.in(language));
  }
  text += section(help::kCommands.in(language), rows, width);
  return text + section(help::kGlobalOptions.in(language), rows_of(global_options(), false, language), width);
}

std::string help_of_all(Language language, std::size_t width) {
  std::string text = head(std::string("tangram: ") + std::string(help::kProgram.in(language)),
                          "tangram [OPTIONS] COMMAND", language, width);
  Rows rows;
  for (const Command* command : commands()) {
    const std::size_t space = command->name.find(' ');
    if (space == std::string_view::npos) {
      rows.emplace_back(command->name, command->summary.in(language));
      continue;
    }
    const CommandGroup* group = find_group(command->name.substr(0, space));
    if (rows.empty() || rows.back().first != group->name)
      rows.emplace_back(group->name, group->summary.in(language));
  }
  text += section(help::kCommands.in(language), rows, width);
  text += section(help::kGlobalOptions.in(language), rows_of(global_options(), false, language), width);
  return text + '\n' + wrap_text(help::kMore.in(language), width, 0) + '\n';
}

}  // namespace tangram::cli

// A command as data. The parser, the help, the shells' completion and the man page read the same tables, so
// they cannot disagree. A command is one file in src/cli/commands/ and one line in command_table.cc.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/table.h"
#include "wire/language.h"

namespace tangram::cli {

class Session;

// What may stand in the place of a value, so that a shell can complete it.
enum class Completes : std::uint8_t {
  kNothing,
  kFile,
  kDirectory,
  kChoice,         // Option::choices
  kUnfinishedJob,  // asked of the daemon
  kAnyJob,         // the same
  kTenant,         // the same
  kToken,          // the same
  kJobOrTenant,    // the same
  kEventType,      // or a group of them: "job.*"
  kColumns,        // Command::columns, separated by commas
  kCode,           // a reason of `tangram explain`
};

// An option ("--tenant VALUE", "--all") or a positional argument ("JOB"), which has no dashes.
struct Option {
  std::string_view name;
  wire::Text about;
  std::string_view value = {};  // what the help calls the value ("PATH"); empty: a flag, or positional
  char letter = 0;              // 'f' for -f
  bool required = false;
  bool repeatable = false;  // a positional one must be the last
  Completes completes = Completes::kNothing;
  std::span<const std::string_view> choices = {};

  constexpr bool is_positional() const { return !name.starts_with("-"); }
  constexpr bool is_flag() const { return !is_positional() && value.empty(); }
};

// What was typed, by option.
class Arguments {
 public:
  bool has(const Option& option) const;
  std::string text(const Option& option) const;  // "": not given, as a value is never empty
  std::vector<std::string> list(const Option& option) const;
  const std::vector<std::string>& program() const { return program_; }  // what stands behind "--"

 private:
  friend class LineReader;
  std::map<std::string_view, std::vector<std::string>> values_;  // a flag has one empty value
  std::vector<std::string> program_;
};

struct Command {
  std::string_view name;  // "queue", "tenant delete"
  wire::Text summary;
  int (*run)(Session&, const Arguments&);  // answers on the session, returns the exit code
  std::span<const Option> options = {};
  // Of the table that it shows; with them the command takes the options of tables.
  std::span<const Column> (*columns)() = nullptr;
  std::string_view examples = {};       // lines of shell
  const wire::Text* more = nullptr;     // a paragraph behind the options
  const wire::Text* program = nullptr;  // what stands behind "--"; null: takes no program
  bool program_optional = false;
  bool offline = false;  // asks no daemon, so how one would be reached does not matter
};

// The first word of commands that have two.
struct CommandGroup {
  std::string_view name;
  wire::Text summary;
};

std::span<const Command* const> commands();  // in the order of the help
std::span<const CommandGroup> command_groups();

// The options that each command takes besides its own.
std::span<const Option> global_options();
std::span<const Option> table_options();  // where the command shows a table

const Command* find_command(std::string_view name);
const CommandGroup* find_group(std::string_view name);

// All that may be typed: the command's own, those of tables where it shows one, and the global ones. Null: no
// command yet.
std::vector<const Option*> options_of(const Command* command);

}  // namespace tangram::cli

// Reads a command line word by word against the tables of cli/command.h. The parser reads whole lines with
// it; the completion reads unfinished ones, and asks what the next word would be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace tangram::cli {

// Not thread-safe. Errors are kInvalidArgument "cli.usage", in the language, and name the word and a remedy.
class LineReader {
 public:
  explicit LineReader(wire::Language language) : language_(language) {}

  Result<void> read(std::string_view word);
  // Whether the line may end here: a command, its required arguments, the value of the last option. With
  // --help anything may.
  Result<void> finish() const;

  // Where the reader stands.
  const Command* command() const { return command_; }      // null: none yet
  const CommandGroup* group() const { return group_; }     // "tenant" of "tenant delete"
  const Option* awaits_value() const { return awaited_; }  // the option before, if the next word is its value
  bool behind_dashes() const { return behind_dashes_; }    // "--" has been read
  const Option* next_positional() const;                   // null: no further one is taken
  const Arguments& arguments() const { return arguments_; }

 private:
  Result<void> read_command(std::string_view word);
  Result<void> read_long(std::string_view word);
  Result<void> read_letters(std::string_view word);
  Result<void> read_positional(std::string_view word);
  Result<void> store(const Option& option, std::string_view value);
  std::string own_name() const;  // "tangram queue"
  template <class Matches>
  const Option* find_option(Matches matches) const;
  std::vector<std::string> option_names() const;
  Result<void> unknown_option(std::string_view word) const;
  Result<void> needs_value(const Option& option) const;

  wire::Language language_;
  const Command* command_ = nullptr;
  const CommandGroup* group_ = nullptr;
  const Option* awaited_ = nullptr;
  bool behind_dashes_ = false;
  Arguments arguments_;
};

// All of a line.
Result<LineReader> read_line(const std::vector<std::string>& words, wire::Language language);

}  // namespace tangram::cli

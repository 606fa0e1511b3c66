#include "cli/line_reader.h"

#include <algorithm>

#include "base/invariant.h"
#include "cli/global_options.h"
#include "cli/text.h"
#include "wire/cli_texts.h"

namespace tangram::cli {
namespace {

namespace say = wire::say;

tl::unexpected<Error> usage_error(std::string message, std::string hint) {
  return fail(Code::kInvalidArgument, "cli.usage", std::move(message), std::move(hint));
}

bool is_global(const Option& option) {
  return std::ranges::any_of(global_options(), [&](const Option& one) { return one.name == option.name; });
}

// The words that may stand where the next word of a command's name is wanted.
std::vector<std::string> command_words(const CommandGroup* group) {
  std::vector<std::string> words;
  for (const Command* command : commands()) {
    if (group == nullptr && command->name.find(' ') == std::string_view::npos)
      words.emplace_back(command->name);
    if (group != nullptr && command->name.starts_with(std::string(group->name) + ' '))
      words.emplace_back(command->name.substr(group->name.size() + 1));
  }
  if (group != nullptr) return words;
  for (const CommandGroup& one : command_groups()) words.emplace_back(one.name);
  return words;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

}  // namespace

std::string LineReader::own_name() const {
  std::string name = "tangram";
  if (command_ != nullptr) return name.append(" ").append(command_->name);
  if (group_ != nullptr) name.append(" ").append(group_->name);
  return name;
}

template <class Matches>
const Option* LineReader::find_option(Matches matches) const {
  for (const Option* option : options_of(command_)) {
    if (!option->is_positional() && matches(*option)) return option;
  }
  return nullptr;
}

std::vector<std::string> LineReader::option_names() const {
  std::vector<std::string> names;
  for (const Option* option : options_of(command_)) {
    if (!option->is_positional()) names.emplace_back(option->name);
  }
  return names;
}

Result<void> LineReader::unknown_option(std::string_view word) const {
  const std::string command = own_name();
  auto suggestion = nearest(word, option_names());
  // What is an option of other programs may be a command here: --version.
  const bool is_command = command_ == nullptr && group_ == nullptr && word.starts_with("--") &&
                          find_command(word.substr(2)) != nullptr;
  if (is_command) suggestion = command + ' ' + std::string(word.substr(2));
  return usage_error(wire::fill(say::kNoSuchOption, language_, {{"word", word}, {"command", command}}),
                     suggestion ? wire::fill(say::kDidYouMean, language_, {{"text", *suggestion}})
                                : wire::fill(say::kSeeHelp, language_, {{"command", command}}));
}

const Option* LineReader::next_positional() const {
  if (command_ == nullptr) return nullptr;
  for (const Option& option : command_->options) {
    if (option.is_positional() && (option.repeatable || !arguments_.has(option))) return &option;
  }
  return nullptr;
}

Result<void> LineReader::store(const Option& option, std::string_view value) {
  if (value.empty() && !option.is_flag()) {
    return usage_error(wire::fill(say::kEmptyValue, language_, {{"option", option.name}}),
                       wire::fill(say::kEmptyValueHint, language_, {{"option", option.name}}));
  }
  const auto is_choice = [&](std::string_view choice) { return choice == value; };
  if (option.completes == Completes::kChoice && std::ranges::none_of(option.choices, is_choice)) {
    std::vector<std::string> choices(option.choices.begin(), option.choices.end());
    const auto suggestion = nearest(value, choices);
    return usage_error(
        wire::fill(say::kNoSuchChoice, language_,
                   {{"option", option.name}, {"value", value}, {"choices", joined(option.choices)}}),
        suggestion ? wire::fill(say::kDidYouMean, language_, {{"text", *suggestion}}) : std::string());
  }
  std::vector<std::string>& values = arguments_.values_[option.name];
  // A global one may stand in an alias of the shell, and be overruled behind it.
  if (!values.empty() && is_global(option)) values.clear();
  if (!values.empty() && !option.repeatable && !option.is_flag()) {
    return usage_error(wire::fill(say::kGivenTwice, language_, {{"option", option.name}}),
                       std::string(say::kKeepOne.in(language_)));
  }
  values.emplace_back(value);
  return {};
}

// The dashes before the program stand where the value should.
Result<void> LineReader::needs_value(const Option& option) const {
  return usage_error(
      wire::fill(say::kNeedsValue, language_, {{"option", option.name}}),
      wire::fill(say::kValueBeforeDashes, language_, {{"option", option.name}, {"value", option.value}}));
}

Result<void> LineReader::read(std::string_view word) {
  if (awaited_ != nullptr) {
    const Option& option = *awaited_;
    if (word == "--") return needs_value(option);
    awaited_ = nullptr;
    return store(option, word);
  }
  if (behind_dashes_ && command_ != nullptr && command_->program != nullptr) {
    arguments_.program_.emplace_back(word);
    return {};
  }
  if (behind_dashes_ || word.size() < 2 || word[0] != '-') {
    return command_ == nullptr ? read_command(word) : read_positional(word);
  }
  if (word == "--") {
    behind_dashes_ = true;
    return {};
  }
  return word[1] == '-' ? read_long(word) : read_letters(word);
}

Result<void> LineReader::read_command(std::string_view word) {
  const std::string prefix = group_ == nullptr ? "" : std::string(group_->name) + ' ';
  command_ = find_command(prefix + std::string(word));
  if (command_ != nullptr) return {};
  const CommandGroup* group = group_ == nullptr ? find_group(word) : nullptr;
  if (group != nullptr) {
    group_ = group;
    return {};
  }
  const std::string name = own_name();
  const auto suggestion = nearest(word, command_words(group_));
  return usage_error(wire::fill(say::kNoSuchCommand, language_, {{"word", word}, {"command", name}}),
                     suggestion
                         ? wire::fill(say::kDidYouMean, language_, {{"text", name + ' ' + *suggestion}})
                         : wire::fill(say::kSeeHelp, language_, {{"command", name}}));
}

Result<void> LineReader::read_long(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const Option* option = find_option([&](const Option& one) { return one.name == name; });
  if (option == nullptr) return unknown_option(name);
  if (equals == std::string_view::npos) {
    if (option->is_flag()) return store(*option, {});
    awaited_ = option;
    return {};
  }
  if (option->is_flag()) {
    return usage_error(wire::fill(say::kTakesNoValue, language_, {{"option", name}}),
                       wire::fill(say::kSeeHelp, language_, {{"command", own_name()}}));
  }
  return store(*option, word.substr(equals + 1));
}

// "-f FILE", "-fFILE", and flags in one word: "-aq".
Result<void> LineReader::read_letters(std::string_view word) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    const char letter = word[i];
    const Option* option = find_option([&](const Option& one) { return one.letter == letter; });
    if (option == nullptr) return unknown_option(i == 1 ? word : std::string("-") + letter);
    if (option->is_flag()) {
      TG_TRY_VOID(store(*option, {}));
      continue;
    }
    if (i + 1 < word.size()) return store(*option, word.substr(i + 1));
    awaited_ = option;
  }
  return {};
}

Result<void> LineReader::read_positional(std::string_view word) {
  const Option* option = next_positional();
  if (option != nullptr) return store(*option, word);
  const std::string command = own_name();
  return usage_error(
      wire::fill(say::kSurplusWord, language_, {{"word", word}, {"command", command}}),
      command_->program != nullptr
          ? wire::fill(say::kProgramBehindDashes, language_, {{"command", command}, {"word", word}})
          : wire::fill(say::kSeeHelp, language_, {{"command", command}}));
}

Result<void> LineReader::finish() const {
  const std::string command = own_name();
  const std::string see_help = wire::fill(say::kSeeHelp, language_, {{"command", command}});
  if (awaited_ != nullptr)
    return usage_error(wire::fill(say::kNeedsValue, language_, {{"option", awaited_->name}}), see_help);
  if (arguments_.has(kHelpOption)) return {};
  if (command_ == nullptr) {
    std::string names;
    for (const std::string& word : command_words(group_))
      names.append(names.empty() ? "" : ", ").append(word);
    return usage_error(wire::fill(say::kNeedsCommand, language_, {{"command", command}}),
                       wire::fill(say::kOneOf, language_, {{"names", names}, {"command", command}}));
  }
  for (const Option& option : command_->options) {
    if (!option.required || arguments_.has(option)) continue;
    return usage_error(wire::fill(say::kMissing, language_, {{"name", option.name}}), see_help);
  }
  return {};
}

bool Arguments::has(const Option& option) const {
  return values_.contains(option.name);
}

std::string Arguments::text(const Option& option) const {
  const auto found = values_.find(option.name);
  if (found == values_.end()) return {};
  TG_ASSERT(!option.is_flag() && !option.repeatable, "a flag or a list is asked for as one text");
  return found->second.back();
}

std::vector<std::string> Arguments::list(const Option& option) const {
  const auto found = values_.find(option.name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

Result<LineReader> read_line(const std::vector<std::string>& words, wire::Language language) {
  LineReader reader(language);
  for (const std::string& word : words) TG_TRY_VOID(reader.read(word));
  TG_TRY_VOID(reader.finish());
  return reader;
}

}  // namespace tangram::cli

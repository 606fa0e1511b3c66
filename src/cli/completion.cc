#include "cli/completion.h"

#include <algorithm>
#include <iterator>

#include "cli/line_reader.h"
#include "wire/command_texts.h"
#include "wire/event.h"
#include "wire/explain.h"

namespace tangram::cli {
namespace {

using wire::Language;

std::vector<KnownName> column_names(const Command* command, std::string_view word) {
  std::vector<KnownName> names;
  if (command == nullptr || command->columns == nullptr) return names;
  const std::size_t comma = word.rfind(',');
  const std::string before(comma == std::string_view::npos ? "" : word.substr(0, comma + 1));
  for (const Column& column : command->columns()) {
    const bool given = ("," + before).find("," + std::string(column.key) + ",") != std::string::npos;
    if (!given) names.push_back({before + std::string(column.key), ""});
  }
  return names;
}

std::vector<KnownName> code_names(Language language) {
  std::vector<KnownName> names;
  for (wire::CodeEntry& entry : wire::code_entries(language))
    names.push_back({std::move(entry.code), std::move(entry.meaning)});
  return names;
}

std::vector<KnownName> jobs_and_tenants(const NameSource& source) {
  std::vector<KnownName> names = source.tenants();
  std::ranges::move(source.jobs(Jobs::kAll), std::back_inserter(names));
  return names;
}

std::vector<KnownName> event_types() {
  std::vector<KnownName> names;
  for (const std::string_view group : wire::event_groups()) names.push_back({std::string(group), ""});
  for (const wire::EventType type : wire::event_types())
    names.push_back({std::string(wire::to_string(type)), ""});
  return names;
}

// What may stand in the place of the option's value.
Completion values_of(const Option& option, const LineReader& line, std::string_view word, Language language,
                     const NameSource& source) {
  switch (option.completes) {
    case Completes::kNothing:
      return {};
    case Completes::kFile:
      return {{}, true, false};
    case Completes::kDirectory:
      return {{}, false, true};
    case Completes::kChoice: {
      Completion completion;
      for (const std::string_view choice : option.choices)
        completion.candidates.push_back({std::string(choice), ""});
      return completion;
    }
    case Completes::kUnfinishedJob:
      return {source.jobs(Jobs::kUnfinished), false, false};
    case Completes::kAnyJob:
      return {source.jobs(Jobs::kAll), false, false};
    case Completes::kTenant:
      return {source.tenants(), false, false};
    case Completes::kToken:
      return {source.tokens(), false, false};
    case Completes::kJobOrTenant:
      return {jobs_and_tenants(source), false, false};
    case Completes::kEventType:
      return {event_types(), false, false};
    case Completes::kColumns:
      return {column_names(line.command(), word), false, false};
    case Completes::kCode:
      return {code_names(language), false, false};
  }
  return {};
}

Completion option_names(const LineReader& line, Language language) {
  Completion completion;
  for (const Option* option : options_of(line.command())) {
    const bool spent = line.arguments().has(*option) && !option->repeatable;
    if (option->is_positional() || spent) continue;
    completion.candidates.push_back({std::string(option->name), std::string(option->about.in(language))});
  }
  if (line.command() != nullptr && line.command()->program != nullptr)
    completion.candidates.push_back({"--", std::string(line.command()->program->in(language))});
  return completion;
}

Completion command_names(const LineReader& line, Language language) {
  Completion completion;
  const std::string prefix = line.group() == nullptr ? "" : std::string(line.group()->name) + ' ';
  for (const Command* command : commands()) {
    if (!command->name.starts_with(prefix)) continue;
    const std::string_view rest = command->name.substr(prefix.size());
    if (rest.find(' ') == std::string_view::npos)
      completion.candidates.push_back({std::string(rest), std::string(command->summary.in(language))});
  }
  if (line.group() != nullptr) return completion;
  for (const CommandGroup& group : command_groups())
    completion.candidates.push_back({std::string(group.name), std::string(group.summary.in(language))});
  return completion;
}

// "--tenant=te": the option, and how much of the word is not its value.
const Option* option_with_value(const LineReader& line, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (!word.starts_with("--") || equals == std::string_view::npos) return nullptr;
  for (const Option* option : options_of(line.command())) {
    if (option->name == word.substr(0, equals) && !option->is_flag() && !option->is_positional())
      return option;
  }
  return nullptr;
}

Completion positional_values(const LineReader& line, std::string_view word, Language language,
                             const NameSource& source) {
  const Option* option = line.next_positional();
  if (option == nullptr) {
    if (line.command()->program == nullptr) return {};
    return {{{"--", std::string(line.command()->program->in(language))}}, false, false};
  }
  Completion completion = values_of(*option, line, word, language, source);
  const std::vector<std::string> given = line.arguments().list(*option);
  std::erase_if(completion.candidates, [&](const KnownName& candidate) {
    return std::ranges::find(given, candidate.name) != given.end();
  });
  return completion;
}

Completion at_cursor(const LineReader& line, const std::string& word, Language language,
                     const NameSource& source) {
  if (line.awaits_value() != nullptr) return values_of(*line.awaits_value(), line, word, language, source);
  // The program and its arguments are the shell's business.
  if (line.behind_dashes() && line.command() != nullptr && line.command()->program != nullptr)
    return {{}, true, false};
  if (const Option* option = option_with_value(line, word); option != nullptr && !line.behind_dashes()) {
    const std::size_t value = option->name.size() + 1;
    Completion completion = values_of(*option, line, word.substr(value), language, source);
    for (KnownName& candidate : completion.candidates) candidate.name.insert(0, word.substr(0, value));
    return completion;
  }
  if (word.starts_with('-') && !line.behind_dashes()) return option_names(line, language);
  if (line.command() == nullptr) return command_names(line, language);
  return positional_values(line, word, language, source);
}

// Letters that no shell gives a meaning of its own inside of a word.
bool is_one_word(std::string_view text) {
  constexpr std::string_view kPlain = "-_./=:,@%+";
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
}

std::string completion_text(const Completion& completion) {
  std::string text;
  for (const KnownName& candidate : completion.candidates) {
    if (is_one_word(candidate.name)) text += candidate.name + '\t' + printable(candidate.about) + '\n';
  }
  return text + (completion.files ? ":files\n" : completion.directories ? ":directories\n" : ":none\n");
}

NameSource nobody() {
  return {[](Jobs) { return std::vector<KnownName>(); }, [] { return std::vector<KnownName>(); },
          [] { return std::vector<KnownName>(); }};
}

}  // namespace

Completion complete(const std::vector<std::string>& words, Language language, const NameSource& source) {
  LineReader line(language);
  const std::string word = words.empty() ? "" : words.back();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    // A word that is wrong is said to be so when the line is run; what comes behind it can still be
    // completed.
    (void)line.read(words[i]);
  }
  Completion completion = at_cursor(line, word, language, source);
  std::erase_if(completion.candidates,
                [&](const KnownName& candidate) { return !candidate.name.starts_with(word); });
  return completion;
}

std::string completion_lines(const std::vector<std::string>& words, const Environment& environment) {
  const Language language = wire::language_of(environment.locale);
  // The line may name another daemon.
  LineReader line(language);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) (void)line.read(words[i]);
  const auto options = client_options(line.arguments(), environment, language);
  if (!options) return completion_text(complete(words, language, nobody()));
  client::ApiClient api(hasty(*options));
  const NameSource source{[&](Jobs which) { return known_jobs(api, which, language); },
                          [&] { return known_tenants(api, language); },
                          [&] { return known_tokens(api, language); }};
  return completion_text(complete(words, language, source));
}

}  // namespace tangram::cli

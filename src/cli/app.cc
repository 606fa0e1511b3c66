#include "cli/app.h"

#include <algorithm>
#include <exception>
#include <ostream>

#include "cli/completion.h"
#include "cli/global_options.h"
#include "cli/help.h"
#include "cli/line_reader.h"
#include "cli/render.h"
#include "cli/table_view.h"
#include "wire/cli_texts.h"
#include "wire/errors.h"
#include "wire/sentences.h"

namespace tangram::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kComplete = "__complete";  // of the shells' scripts; not for people

// What is said about the line itself is already in the language that it asks for.
wire::Language language_of_line(const Words& words, const Environment& environment) {
  const auto end = std::ranges::find(words, "--");
  const std::string prefix = std::string(kLangOption.name) + '=';
  for (auto word = words.begin(); word != end; ++word) {
    if (word->starts_with(prefix)) return wire::language_of(word->substr(prefix.size()));
    if (*word == kLangOption.name && word + 1 != end) return wire::language_of(*(word + 1));
  }
  return wire::language_of(environment.locale);
}

OutputFormat format_of(const Arguments& arguments) {
  const std::string text = arguments.text(kOutputOption);
  if (text == "json") return OutputFormat::kJson;
  if (text == "yaml") return OutputFormat::kYaml;
  return OutputFormat::kTable;
}

std::string help_of_line(const LineReader& line, wire::Language language, std::size_t width) {
  if (line.command() != nullptr) return help_of(*line.command(), language, width);
  return line.group() != nullptr ? help_of(*line.group(), language, width) : help_of_all(language, width);
}

int run_line(const Words& words, const Environment& environment, Streams& streams) {
  if (!words.empty() && words.front() == kComplete) {
    streams.out << completion_lines({words.begin() + 1, words.end()}, environment) << std::flush;
    return wire::kExitOk;
  }
  const wire::Language language = language_of_line(words, environment);
  const auto refuse = [&](const Error& error) {
    streams.err << render_error(error, {streams.width, streams.colour_err, {}, language}) << std::flush;
    return wire::exit_code(error);
  };
  const Result<LineReader> line = read_line(words, language);
  if (!line) return refuse(line.error());
  const Arguments& arguments = line->arguments();
  if (arguments.has(kHelpOption)) {
    streams.out << help_of_line(*line, language, streams.width) << std::flush;
    return wire::kExitOk;
  }
  const Result<TableView> table = read_table_view(*line->command(), arguments, language);
  if (!table) return refuse(table.error());
  Result<client::ApiClientOptions> options = client_options(arguments, environment, language);
  if (!options && line->command()->offline) options = client::ApiClientOptions();
  if (!options) return refuse(wire::localised(options.error(), language));
  client::ApiClient api(*options);
  Session session(streams, api, {format_of(arguments), language, *table, *options});
  return line->command()->run(session, arguments);
}

}  // namespace

int run(const Words& words, const Environment& environment, Streams& streams) {
  try {
    return run_line(words, environment, streams);
  } catch (const std::exception& failure) {
    const wire::Language language = language_of_line(words, environment);
    streams.err << "tangram: " << wire::fill(wire::say::kBug, language, {{"what", failure.what()}})
                << std::endl;
    return wire::kExitBug;
  }
}

}  // namespace tangram::cli

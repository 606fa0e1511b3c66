#include "cli/table_view.h"

#include <algorithm>

#include "cli/global_options.h"
#include "wire/cli_texts.h"

namespace tangram::cli {
namespace {

namespace say = wire::say;

tl::unexpected<Error> usage_error(std::string message, std::string hint) {
  return fail(Code::kInvalidArgument, "cli.usage", std::move(message), std::move(hint));
}

// "job,state" -> the keys, each one that the table has.
Result<std::vector<std::string>> read_columns(std::string_view text, std::span<const Column> known,
                                              wire::Language language) {
  std::vector<std::string> names;
  for (const Column& column : known) names.emplace_back(column.key);
  std::vector<std::string> columns;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string key(text.substr(0, comma));
    if (std::ranges::find(names, key) == names.end()) {
      std::string all;
      for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
      const auto suggestion = nearest(key, names);
      return usage_error(wire::fill(say::kNoSuchColumn, language, {{"column", key}}),
                         suggestion ? wire::fill(say::kDidYouMean, language, {{"text", *suggestion}})
                                    : wire::fill(say::kColumnsAre, language, {{"columns", all}}));
    }
    columns.push_back(key);
    if (comma == text.size()) return columns;
    text.remove_prefix(comma + 1);
  }
}

// The first option of tables that was given; "" for none.
std::string_view given_option(const Arguments& arguments) {
  for (const Option& option : table_options()) {
    if (arguments.has(option)) return option.name;
  }
  return {};
}

}  // namespace

Result<TableView> read_table_view(const Command& command, const Arguments& arguments,
                                  wire::Language language) {
  TableView view;
  const std::string format = arguments.text(kOutputOption);
  view.csv = format == "csv";
  view.wide = format == "wide";
  if (command.columns == nullptr) {
    if (!view.csv) return view;
    return usage_error(wire::fill(say::kNoTable, language, {{"command", command.name}}),
                       std::string(say::kTakeJson.in(language)));
  }
  const std::string_view given = given_option(arguments);
  if (!given.empty() && (format == "json" || format == "yaml")) {
    return usage_error(wire::fill(say::kOnlyForTables, language, {{"option", given}, {"format", format}}),
                       wire::fill(say::kLeaveOneOut, language, {{"option", given}}));
  }
  view.headers = !arguments.has(kNoHeadersOption);
  view.ids = arguments.has(kQuietOption);
  if (!arguments.has(kColumnsOption)) return view;
  if (view.ids) {
    return usage_error(std::string(say::kIdsOrColumns.in(language)),
                       wire::fill(say::kLeaveOneOut, language, {{"option", kQuietOption.name}}));
  }
  TG_TRY(view.columns, read_columns(arguments.text(kColumnsOption), command.columns(), language));
  return view;
}

}  // namespace tangram::cli

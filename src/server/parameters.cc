#include "server/parameters.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace tangram::server {

Result<void> check_parameters(const net::Query& query, std::initializer_list<std::string_view> known,
                              std::string_view repeatable) {
  std::set<std::string_view> seen;
  for (const net::Query::Parameter& parameter : query) {
    if (std::find(known.begin(), known.end(), parameter.name) == known.end()) {
      std::string names;
      for (const std::string_view name : known) names += (names.empty() ? "" : ", ") + std::string(name);
      return fail(Code::kInvalidArgument, "input.unknown_field",
                  "this call has no parameter " + parameter.name.substr(0, 64),
                  names.empty() ? "it has none" : "it has: " + names);
    }
    if (!seen.insert(parameter.name).second && parameter.name != repeatable) {
      return fail(Code::kInvalidArgument, "input.duplicate_key", parameter.name + " stands twice",
                  "give it once");
    }
  }
  return {};
}

Result<std::optional<std::int64_t>> number_parameter(const net::Query& query, std::string_view name,
                                                     std::int64_t least, std::int64_t most) {
  const auto text = query.get(name);
  if (!text) return std::optional<std::int64_t>();
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (problem == std::errc::invalid_argument || end != text->data() + text->size()) {
    return fail(Code::kInvalidArgument, "input.bad_value",
                std::string(name) + ": \"" + std::string(text->substr(0, 64)) + "\" is no whole number");
  }
  if (problem != std::errc{} || number < least || number > most) {
    return fail(Code::kInvalidArgument, "input.out_of_range",
                std::string(name) + ": " + std::string(text->substr(0, 64)) + " is not from " +
                    std::to_string(least) + " to " + std::to_string(most));
  }
  return std::optional(number);
}

Result<bool> flag_parameter(const net::Query& query, std::string_view name) {
  const auto text = query.get(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (*text == "true" || *text == "1") return true;
  return fail(Code::kInvalidArgument, "input.bad_value",
              std::string(name) + ": \"" + std::string(text->substr(0, 64)) + "\" is neither true nor false");
}

std::string text_parameter(const net::Query& query, std::string_view name) {
  return std::string(query.get(name).value_or(""));
}

}  // namespace tangram::server

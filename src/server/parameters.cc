#include "server/parameters.h"

#include <algorithm>
#include <charconv>

#include "base/invariant.h"
#include "base/quote.h"
#include "base/units.h"
#include "service/access.h"
#include "wire/event.h"
#include "wire/schema.h"

namespace tangram::server {
namespace {

using wire::Parameter;
using wire::ParameterType;

constexpr std::size_t kKeyLengthMax = 128;

std::string shown(const Parameter& parameter, std::string_view text) {
  return std::string(parameter.name) + ": " + quoted(text);
}

tl::unexpected<Error> bad_value(const Parameter& parameter, std::string_view text, std::string_view why,
                                std::string hint = {}) {
  return fail(Code::kInvalidArgument, "input.bad_value", shown(parameter, text) + " " + std::string(why),
              std::move(hint), {{"field", std::string(parameter.name)}});
}

tl::unexpected<Error> out_of_range(const Parameter& parameter, std::string_view text,
                                   const std::string& range) {
  return fail(Code::kInvalidArgument, "input.out_of_range", shown(parameter, text) + " must be " + range, {},
              {{"field", std::string(parameter.name)}});
}

Result<std::int64_t> read_integer(const Parameter& parameter, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc::invalid_argument || end != text.data() + text.size()) {
    return bad_value(parameter, text, "is no whole number");
  }
  if (problem != std::errc{} || number < parameter.least || number > parameter.most) {
    return out_of_range(parameter, text,
                        "from " + std::to_string(parameter.least) + " to " + std::to_string(parameter.most));
  }
  return number;
}

Result<std::int64_t> read_duration(const Parameter& parameter, std::string_view text) {
  TG_TRY(const std::int64_t ms, parse_duration_ms(text, parameter.name));
  if (ms < parameter.least || ms > parameter.most) {
    return out_of_range(
        parameter, text,
        "from " + format_duration_ms(parameter.least) + " to " + format_duration_ms(parameter.most));
  }
  return ms;
}

Result<bool> read_flag(const Parameter& parameter, std::string_view text) {
  if (text == "false" || text == "0") return false;
  if (text == "true" || text == "1") return true;
  return bad_value(parameter, text, "is neither true nor false");
}

Result<void> check_text(const Parameter& parameter, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (size >= parameter.least && (parameter.most == 0 || size <= parameter.most)) return {};
  const std::string least = "a text of " + std::to_string(parameter.least);
  return out_of_range(parameter, text,
                      parameter.most == 0 ? least + " to any number of bytes"
                                          : least + " to " + std::to_string(parameter.most) + " bytes");
}

Result<void> check_label(const Parameter& parameter, std::string_view text) {
  const auto equals = text.find('=');
  if (equals != std::string_view::npos && equals != 0) return {};
  return bad_value(parameter, text, "is not KEY=VALUE");
}

Result<void> check_key(const Parameter& parameter, std::string_view text) {
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!text.empty() && text.size() <= kKeyLengthMax && printable) return {};
  return fail(Code::kInvalidArgument, "input.bad_value",
              std::string(parameter.name) + " must be 1 to 128 printable characters without spaces",
              "a UUID does well");
}

const Parameter* find(std::span<const Parameter> table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Parameter& p) { return p.name == name; });
  return found == table.end() ? nullptr : &*found;
}

tl::unexpected<Error> unknown(std::span<const Parameter> table, std::string_view name) {
  std::string names;
  for (const Parameter& parameter : table) {
    names += (names.empty() ? "" : ", ") + std::string(parameter.name);
  }
  return fail(Code::kInvalidArgument, "input.unknown_field",
              "this call has no parameter " + printable(name, 64),
              names.empty() ? "it has none" : "it has: " + names);
}

}  // namespace

Result<Parameters> Parameters::read(const wire::Operation& operation, const net::Request& request) {
  Parameters parameters;
  for (const Parameter& parameter : operation.query) parameters.values_[std::string(parameter.name)];
  for (const Parameter& parameter : operation.headers) parameters.values_[std::string(parameter.name)];
  for (const net::Query::Parameter& given : request.query) {
    const Parameter* parameter = find(operation.query, given.name);
    if (parameter == nullptr) return unknown(operation.query, given.name);
    if (!parameter->repeatable && !parameters.values(given.name).empty()) {
      return fail(Code::kInvalidArgument, "input.duplicate_key", given.name + " stands twice",
                  "give it once");
    }
    TG_TRY_VOID(parameters.take(*parameter, given.value));
  }
  for (const Parameter& parameter : operation.headers) {
    if (const auto text = request.headers.get(parameter.name)) {
      TG_TRY_VOID(parameters.take(parameter, *text));
    }
  }
  return parameters;
}

Result<void> Parameters::take(const Parameter& parameter, std::string_view text) {
  std::vector<Value>& values = values_.find(parameter.name)->second;
  switch (parameter.type) {
    case ParameterType::kInteger: {
      TG_TRY(const std::int64_t number, read_integer(parameter, text));
      values.emplace_back(number);
      return {};
    }
    case ParameterType::kDuration: {
      TG_TRY(const std::int64_t ms, read_duration(parameter, text));
      values.emplace_back(ms);
      return {};
    }
    case ParameterType::kFlag: {
      TG_TRY(const bool flag, read_flag(parameter, text));
      values.emplace_back(flag);
      return {};
    }
    case ParameterType::kText:
      TG_TRY_VOID(check_text(parameter, text));
      break;
    case ParameterType::kJobState: {
      TG_TRY([[maybe_unused]] const JobState state, wire::parse_job_state(text, parameter.name));
      break;
    }
    case ParameterType::kJobId:
      TG_TRY_VOID(service::parse_job_id(text).map([](JobId) {}));
      break;
    case ParameterType::kLabel:
      TG_TRY_VOID(check_label(parameter, text));
      break;
    case ParameterType::kIdempotencyKey:
      TG_TRY_VOID(check_key(parameter, text));
      break;
    case ParameterType::kCursorOrOldest:
      if (text == "oldest") break;
      [[fallthrough]];
    case ParameterType::kCursor:
      TG_TRY_VOID(wire::parse_cursor(text, parameter.name).map([](const EventCursor&) {}));
      break;
    case ParameterType::kEventType:
      TG_TRY_VOID(wire::check_event_type(text, parameter.name));
      break;
    case ParameterType::kBytes: {
      TG_TRY(const Bytes bytes, parse_bytes(text, parameter.name));
      if (bytes.count <= 0) return bad_value(parameter, text, "must be more than nothing");
      values.emplace_back(bytes.count);
      return {};
    }
    case ParameterType::kRate: {
      TG_TRY(const std::int64_t rate, parse_bits_per_second(text, parameter.name));
      values.emplace_back(rate);
      return {};
    }
    case ParameterType::kPriority: {
      TG_TRY([[maybe_unused]] const Priority priority, wire::parse_priority(text, parameter.name));
      break;
    }
  }
  values.emplace_back(std::string(text));
  return {};
}

const std::vector<Parameters::Value>& Parameters::values(std::string_view name) const {
  const auto found = values_.find(name);
  TG_ASSERT(found != values_.end(), "a handler asks for a parameter that its table does not have");
  return found->second;
}

std::optional<std::int64_t> Parameters::number(std::string_view name) const {
  const auto& given = values(name);
  return given.empty() ? std::nullopt : std::optional(std::get<std::int64_t>(given.front()));
}

bool Parameters::flag(std::string_view name) const {
  const auto& given = values(name);
  return !given.empty() && std::get<bool>(given.front());
}

std::string Parameters::text(std::string_view name) const {
  const auto& given = values(name);
  return given.empty() ? std::string() : std::get<std::string>(given.front());
}

std::vector<std::string> Parameters::texts(std::string_view name) const {
  std::vector<std::string> all;
  for (const Value& value : values(name)) all.push_back(std::get<std::string>(value));
  return all;
}

}  // namespace tangram::server

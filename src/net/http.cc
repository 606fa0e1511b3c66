#include "net/http.h"

#include <algorithm>

#include "base/quote.h"

namespace tangram::net {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return -1;
}

// Empty when an escape is broken or a NUL comes out, which no later layer could hold safely.
std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) {
      c = ' ';
    } else if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The value of a parameter, and what else is before the next ';', taken off the front of `rest`. In quotes a
// ';' is a character like any other, and so is what stands behind a backslash.
std::string take_value(std::string_view& rest) {
  std::string value;
  bool in_quotes = false;
  std::size_t at = 0;
  for (; at < rest.size() && (in_quotes || rest[at] != ';'); ++at) {
    if (rest[at] == '"') {
      in_quotes = !in_quotes;
      continue;
    }
    if (in_quotes && rest[at] == '\\' && at + 1 < rest.size()) ++at;
    value.push_back(rest[at]);
  }
  rest.remove_prefix(at);
  return std::string(trimmed(value));
}

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool safe_in_header(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kOptions:
      return "OPTIONS";
    case Method::kOther:
      return "OTHER";
  }
  return "GET";
}

void Headers::add(std::string name, std::string value) {
  fields_.push_back(Field{std::move(name), std::move(value)});
}

void Headers::set(std::string name, std::string value) {
  remove(name);
  add(std::move(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return same_ignoring_case(field.name, name); });
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const Field& field : fields_) {
    if (same_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::vector<std::string> field_parameters(std::string_view field, std::string_view name) {
  std::vector<std::string> values;
  field.remove_prefix(std::min(field.find(';'), field.size()));
  while (!field.empty()) {
    field.remove_prefix(1);  // the ';'
    const std::size_t end = std::min(field.find_first_of("=;"), field.size());
    const std::string_view key = trimmed(field.substr(0, end));
    field.remove_prefix(end);
    std::string value;
    if (field.starts_with('=')) {
      field.remove_prefix(1);
      value = take_value(field);
    }
    if (same_ignoring_case(key, name)) values.push_back(std::move(value));
  }
  return values;
}

std::optional<std::string> bearer_token(const Headers& headers) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto header = headers.get("Authorization");
  if (!header) return std::nullopt;
  const std::string_view scheme = header->substr(0, std::min(kScheme.size(), header->size()));
  if (!same_ignoring_case(scheme, kScheme)) return std::string();
  std::string_view token = header->substr(kScheme.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  return std::string(token);
}

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decode(pair.substr(0, equals), true);
    auto value = decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) {
      return fail(Code::kInvalidArgument, "http.query.invalid",
                  "the query has a broken escape in " + quoted(pair, 100), "write special characters as %XX");
    }
    query.add(std::move(*name), std::move(*value));
  }
  return query;
}

void Query::add(std::string name, std::string value) {
  parameters_.push_back(Parameter{std::move(name), std::move(value)});
}

std::optional<std::string_view> Query::get(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return parameter.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) values.push_back(parameter.value);
  }
  return values;
}

std::string Query::encode() const {
  std::string text;
  for (const Parameter& parameter : parameters_) {
    if (!text.empty()) text += '&';
    text += encode_segment(parameter.name) + '=' + encode_segment(parameter.value);
  }
  return text;
}

std::string encode_segment(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kHex[byte >> 4U]);
      out.push_back(kHex[byte & 15U]);
    }
  }
  return out;
}

std::string Peer::host() const {
  return address.substr(0, address.rfind(':'));
}

Result<std::string> origin_form(std::string_view target) {
  std::string_view rest;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (same_ignoring_case(target.substr(0, scheme.size()), scheme)) rest = target.substr(scheme.size());
  }
  if (rest.data() == nullptr) return std::string(target);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.empty() || authority.find('@') != std::string_view::npos) {
    return fail(Code::kInvalidArgument, "http.path.invalid",
                "the target " + quoted(target, 100) + " names no host, or a user beside it",
                "send the path alone, or http://HOST:PORT in front of it");
  }
  rest.remove_prefix(end);
  return (rest.starts_with('/') ? "" : "/") + std::string(rest);
}

Result<std::vector<std::string>> split_path(std::string_view path) {
  if (path.empty() || path.front() != '/') {
    return fail(Code::kInvalidArgument, "http.path.invalid",
                "the path " + quoted(path, 100) + " does not start with \"/\"");
  }
  std::vector<std::string> segments;
  if (path == "/") return segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    auto segment = decode(path.substr(0, end), false);
    if (!segment) {
      return fail(Code::kInvalidArgument, "http.path.invalid",
                  "the path has a broken escape in " + quoted(path.substr(0, end), 100),
                  "write special characters as %XX");
    }
    segments.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return segments;
}

}  // namespace tangram::net

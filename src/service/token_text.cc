#include "service/token_text.h"

#include <algorithm>
#include <charconv>

#include "base/secret_text.h"

namespace tangram::service {
namespace {

constexpr std::size_t kSecretLength = 64;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string TokenText::to_string() const {
  return std::string(kTokenPrefix) + std::to_string(id) + "_" + secret;
}

std::optional<TokenText> TokenText::parse(std::string_view text) {
  if (!text.starts_with(kTokenPrefix)) return std::nullopt;
  text.remove_prefix(kTokenPrefix.size());
  const std::size_t bar = text.find('_');
  if (bar == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(0, bar);
  const std::string_view secret = text.substr(bar + 1);
  TokenText token;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), token.id);
  const bool whole = problem == std::errc{} && end == number.data() + number.size();
  if (!whole || secret.size() != kSecretLength || !is_hex(secret)) return std::nullopt;
  token.secret = secret;
  return token;
}

std::string format_token_id(std::uint64_t id) {
  return "t-" + std::to_string(id);
}

}  // namespace tangram::service

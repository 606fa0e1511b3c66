#include "base/secret_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace tangram {
namespace {

// Without escapes, however often they were escaped themselves; a broken one stays.
std::string unescaped(std::string_view path) {
  std::string text;
  for (const char letter : path) {
    text += letter;
    while (text.size() >= 3 && text[text.size() - 3] == '%') {
      const char* const end = text.data() + text.size();
      std::uint8_t byte = 0;
      const auto [stop, problem] = std::from_chars(end - 2, end, byte, 16);
      if (problem != std::errc{} || stop != end) break;
      text.resize(text.size() - 3);
      text += static_cast<char>(byte);
    }
  }
  return text;
}

// Of ASCII alone: the prefixes have no other letters, and a locale must not decide what is a secret.
char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

std::string without_secrets(std::string_view path) {
  const std::string plain = unescaped(path);
  std::string lowered = plain;
  std::ranges::transform(lowered, lowered.begin(), lower);
  std::size_t at = std::string::npos;
  for (const std::string_view prefix : kSecretPrefixes) at = std::min(at, lowered.find(prefix));
  if (at == std::string::npos) return std::string(path);
  return plain.substr(0, at) + "(token)";
}

}  // namespace tangram

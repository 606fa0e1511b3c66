#include "base/quote.h"

#include <algorithm>

namespace tangram {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

void append_escaped(std::string& out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\u00";
  out += kHex[c >> 4U];
  out += kHex[c & 15U];
}

bool is_plain(char c) {
  return c >= ' ' && c < '\x7F' && c != '"' && c != '\\';
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view cut_text(std::string_view text, std::size_t length_max) {
  if (text.size() <= length_max) return text;
  std::size_t cut = length_max;
  while (cut > 0 && is_continuation(text[cut])) --cut;
  return text.substr(0, cut);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (true) {
    // Nearly all text is one such run: letter by letter it would cost several times as much.
    const auto run =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out += text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (c < 0x20 || c == 0x7F || c == '"' || c == '\\') {
      append_escaped(out, c);
    } else if (length == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string quoted(std::string_view text, std::size_t length_max) {
  const std::string_view shown = cut_text(text, length_max);
  std::string out;
  append_quoted(out, shown);
  if (shown.size() != text.size()) {
    out.pop_back();
    out += "…\"";
  }
  return out;
}

std::string printable(std::string_view text, std::size_t length_max) {
  const std::string whole = quoted(text, length_max);
  return whole.substr(1, whole.size() - 2);
}

}  // namespace tangram

#include "kube/admission/quantity.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace tangram::kube::admission {
namespace {

constexpr std::size_t kLengthMax = 64;
constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();
constexpr auto kWholeMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

struct Number {
  std::uint64_t digits = 0;  // without the point
  int decimals = 0;          // how many of them stand behind it
  bool overflow = false;
};

struct Scale {
  int tens = 0;  // 10^tens * 2^twos
  int twos = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// False when it does not fit any more.
bool times(std::uint64_t& value, std::uint64_t factor) {
  if (value > kTop / factor) return false;
  value *= factor;
  return true;
}

// Zeros behind the point count only when another digit follows, so that "1.000…0" of any length is 1.
std::optional<Number> take_number(std::string_view& text) {
  Number number;
  bool any = false;
  bool behind = false;
  int zeros = 0;
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !behind)); ++at) {
    if (text[at] == '.') {
      behind = true;
      continue;
    }
    any = true;
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    if (behind && digit == 0) {
      ++zeros;
      continue;
    }
    for (int i = 0; i < (behind ? zeros + 1 : 1); ++i) number.overflow |= !times(number.digits, 10);
    number.overflow |= number.digits > kTop - digit;
    number.digits += number.overflow ? 0 : digit;
    if (behind) number.decimals += zeros + 1;
    zeros = 0;
  }
  text.remove_prefix(at);
  return any ? std::optional(number) : std::nullopt;
}

std::optional<Scale> scale_of(std::string_view suffix) {
  static constexpr std::array<std::pair<std::string_view, Scale>, 16> kSuffixes{{
      {"", {0, 0}},
      {"n", {-9, 0}},
      {"u", {-6, 0}},
      {"m", {-3, 0}},
      {"k", {3, 0}},
      {"M", {6, 0}},
      {"G", {9, 0}},
      {"T", {12, 0}},
      {"P", {15, 0}},
      {"E", {18, 0}},
      {"Ki", {0, 10}},
      {"Mi", {0, 20}},
      {"Gi", {0, 30}},
      {"Ti", {0, 40}},
      {"Pi", {0, 50}},
      {"Ei", {0, 60}},
  }};
  for (const auto& [known, scale] : kSuffixes) {
    if (known == suffix) return scale;
  }
  if (suffix.size() < 2 || (suffix.front() != 'e' && suffix.front() != 'E')) return std::nullopt;
  const bool plus = suffix[1] == '+';
  suffix.remove_prefix(plus ? 2 : 1);
  if (plus && (suffix.empty() || !is_digit(suffix.front()))) return std::nullopt;
  int exponent = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  const bool good =
      error == std::errc{} && end == suffix.data() + suffix.size() && exponent > -1000 && exponent < 1000;
  return good ? std::optional(Scale{exponent, 0}) : std::nullopt;
}

tl::expected<std::uint64_t, QuantityFault> scaled(const Number& number, Scale scale) {
  std::uint64_t value = number.digits;
  if (value == 0) return value;
  const auto divided = [&value](std::uint64_t by) {
    const bool exact = value % by == 0;
    if (exact) value /= by;
    return exact;
  };
  int tens = scale.tens - number.decimals;
  int twos = scale.twos;
  if (scale.twos > 0) {
    // 10 is 5 * 2: the fives have to divide the digits, the twos are taken from the scale.
    for (; tens < 0; ++tens, --twos) {
      if (!divided(5)) return tl::unexpected(QuantityFault::kFraction);
    }
  }
  for (; tens < 0; ++tens) {
    if (!divided(10)) return tl::unexpected(QuantityFault::kFraction);
  }
  for (; twos < 0; ++twos) {
    if (!divided(2)) return tl::unexpected(QuantityFault::kFraction);
  }
  for (; tens > 0; --tens) {
    if (!times(value, 10)) return tl::unexpected(QuantityFault::kRange);
  }
  for (; twos > 0; --twos) {
    if (!times(value, 2)) return tl::unexpected(QuantityFault::kRange);
  }
  return value;
}

}  // namespace

tl::expected<std::int64_t, QuantityFault> whole_quantity(std::string_view text) {
  if (text.empty() || text.size() > kLengthMax) return tl::unexpected(QuantityFault::kSyntax);
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  const std::optional<Number> number = take_number(text);
  const std::optional<Scale> scale = scale_of(text);
  if (!number || !scale) return tl::unexpected(QuantityFault::kSyntax);
  if (number->overflow) return tl::unexpected(QuantityFault::kRange);
  const auto value = scaled(*number, *scale);
  if (!value) return tl::unexpected(value.error());
  if (*value > kWholeMax) return tl::unexpected(QuantityFault::kRange);
  const auto whole = static_cast<std::int64_t>(*value);
  return negative ? -whole : whole;
}

std::string_view to_string(QuantityFault fault) {
  switch (fault) {
    case QuantityFault::kSyntax:
      return "it is no quantity";
    case QuantityFault::kFraction:
      return "it has a fraction";
    case QuantityFault::kRange:
      return "it is too large";
  }
  return "unknown";
}

}  // namespace tangram::kube::admission

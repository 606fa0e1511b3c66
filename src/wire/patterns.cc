#include "wire/patterns.h"

#include <array>
#include <cstddef>

#include "base/invariant.h"

namespace tangram::wire {

namespace {

constexpr std::int64_t kTenYearsMs = 10LL * 365 * 86'400'000;

// Each unit may be left out, but not all: one alternative for each unit that may come first.
std::string up_to_ten_years() {
  constexpr std::string_view kDays = "([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2})d";
  constexpr std::string_view kHours = "[1-9][0-9]{0,2}h";
  constexpr std::string_view kMinutes = "[1-9][0-9]{0,3}m";
  constexpr std::string_view kSeconds = "[1-9][0-9]{0,4}s";
  constexpr std::string_view kMilliseconds = "[1-9][0-9]{0,5}ms";
  constexpr std::array kUnits = {kDays, kHours, kMinutes, kSeconds, kMilliseconds};
  std::string pattern;
  for (std::size_t first = 0; first < kUnits.size(); ++first) {
    if (first > 0) pattern += '|';
    pattern += kUnits[first];
    for (std::size_t after = first + 1; after < kUnits.size(); ++after) {
      pattern += '(';
      pattern += kUnits[after];
      pattern += ")?";
    }
  }
  return pattern;
}

std::string unit_pattern(std::string_view first_digit, std::initializer_list<std::string_view> units,
                         UnitDigits digits) {
  TG_ASSERT(units.size() == digits.size(), "a number of digits for each unit");
  std::string pattern;
  const int* count = digits.begin();
  for (const std::string_view unit : units) {
    pattern += (pattern.empty() ? "" : "|") + std::string(first_digit) + "[0-9]{0," +
               std::to_string(*count++ - 1) + "}" + std::string(unit);
  }
  return "^(" + pattern + ")$";
}

}  // namespace

std::string bytes_pattern(std::int64_t min, UnitDigits digits) {
  return unit_pattern(min > 0 ? "[1-9]" : "[0-9]", {"B", "KiB", "MiB", "GiB", "TiB"}, digits);
}

std::string rate_pattern(UnitDigits digits) {
  return unit_pattern("[0-9]", {"bps", "Kbps", "Mbps", "Gbps"}, digits);
}

std::string pattern_schema(std::string_view pattern, std::string_view example) {
  return R"({"type":"string","pattern":")" + std::string(pattern) + R"(","examples":[")" +
         std::string(example) + R"("]})";
}

std::string duration_pattern(std::int64_t min_ms, std::int64_t max_ms) {
  TG_ASSERT(min_ms <= 1 && (max_ms == kMinuteMs || max_ms >= kTenYearsMs),
            "no pattern is known for these bounds");
  std::string pattern = max_ms == kMinuteMs ? "[1-5]?[0-9]s|60s|1m|[0-9]{1,4}ms" : up_to_ten_years();
  if (min_ms == 0 && max_ms != kMinuteMs) pattern += "|0s";
  return "^(" + pattern + ")$";
}

}  // namespace tangram::wire

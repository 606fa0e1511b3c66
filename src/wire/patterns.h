// What the readers of single values take, as the regular expressions of JSON Schema, in their canonical form:
// readers also take fractions of units that come out exact, and parts of a duration in any number. Private to
// wire.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tangram::wire {

inline constexpr std::string_view kNamePattern = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
inline constexpr std::string_view kJobIdPattern = "^j-(0|[1-9][0-9]{0,17})$";
inline constexpr std::string_view kCursorPattern = R"(^[0-9]{1,18}(\.[0-9]{1,6})?$)";
inline constexpr std::string_view kCursorOrOldestPattern = R"(^(oldest|[0-9]{1,18}(\.[0-9]{1,6})?)$)";
inline constexpr std::string_view kRestartPattern =
    "^(never|on-lost|on-failure:([0-9]|[1-9][0-9]{1,2}|1000))$";
inline constexpr std::string_view kLabelKeyPattern = "^[A-Za-z0-9._/-]{1,63}$";
inline constexpr std::string_view kLabelValuePattern = "^[A-Za-z0-9._/-]{0,63}$";
inline constexpr std::string_view kIdempotencyKeyPattern = "^[!-~]{1,128}$";
inline constexpr std::string_view kLabelPattern = R"(^[^=\u0000]+=[^\u0000]*$)";
inline constexpr std::string_view kTextPattern = R"(^[^\u0000]*$)";  // no NUL

inline constexpr std::int64_t kMinuteMs = 60'000;

// As many digits as the number before each unit may have, from the smallest unit on.
using UnitDigits = std::initializer_list<int>;
std::string bytes_pattern(std::int64_t min, UnitDigits digits);  // B, KiB, MiB, GiB, TiB; `min`: 0 or more
std::string rate_pattern(UnitDigits digits);                     // bps, Kbps, Mbps, Gbps

// {"type":"string","pattern":…,"examples":[…]}
std::string pattern_schema(std::string_view pattern, std::string_view example);

// `min_ms`: 0 or 1. `max_ms`: a minute, or anything from ten years on.
std::string duration_pattern(std::int64_t min_ms, std::int64_t max_ms);

}  // namespace tangram::wire

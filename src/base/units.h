// Quantities with their unit in the type. Memory is counted in bytes and written in IEC units (32GiB).
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram {

// The limit that never binds. Kept far from the end of the range, so that sums of it cannot overflow.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

struct Bytes {
  std::int64_t count = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t bytes) : count(bytes) {}

  static constexpr Bytes kib(std::int64_t n) { return Bytes(n * 1024); }
  static constexpr Bytes mib(std::int64_t n) { return Bytes(n * 1024 * 1024); }
  static constexpr Bytes gib(std::int64_t n) { return Bytes(n * 1024 * 1024 * 1024); }
  static constexpr Bytes unlimited() { return Bytes(kUnlimited); }

  constexpr bool is_unlimited() const { return count >= kUnlimited; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count -= other.count;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count + b.count); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count - b.count); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes(a.count * n); }
};

// A point in time on the core's own monotone line: milliseconds since the epoch at birth, then boot time.
struct TimeMs {
  std::int64_t value = 0;

  constexpr TimeMs() = default;
  constexpr explicit TimeMs(std::int64_t ms) : value(ms) {}
  friend constexpr auto operator<=>(TimeMs, TimeMs) = default;
  static constexpr TimeMs never() { return TimeMs(kUnlimited); }
};

// "32GiB", "512MiB", "64KiB", "100B", also with a fraction ("1.5GiB") and as "32Gi"; a bare number is
// refused, because a reader cannot tell its unit. `field` is named in the error.
Result<Bytes> parse_bytes(std::string_view text, std::string_view field);

// "90s", "15m", "24h", "2d", "1h30m"; a bare number is refused. Milliseconds ("250ms") are accepted. `field`
// is named in the error. Result in milliseconds, 0 to 10 years.
Result<std::int64_t> parse_duration_ms(std::string_view text, std::string_view field);

// "10Gbps", "500Mbps", "64Kbps": decimal units as networks count them. Result in bits per second.
Result<std::int64_t> parse_bits_per_second(std::string_view text, std::string_view field);

// The shortest exact form: 34359738368 -> "32GiB", 1000 -> "1000B"; kUnlimited -> "unlimited".
std::string format_bytes(Bytes bytes);
std::string format_duration_ms(std::int64_t ms);
std::string format_bits_per_second(std::int64_t bits_per_second);

}  // namespace tangram

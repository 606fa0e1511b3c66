#include "base/units.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <span>

#include "base/quote.h"

namespace tangram {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array<Unit, 9> kByteUnits = {{{"B", 1},
                                             {"KiB", 1LL << 10},
                                             {"Ki", 1LL << 10},
                                             {"MiB", 1LL << 20},
                                             {"Mi", 1LL << 20},
                                             {"GiB", 1LL << 30},
                                             {"Gi", 1LL << 30},
                                             {"TiB", 1LL << 40},
                                             {"Ti", 1LL << 40}}};
constexpr std::array<Unit, 5> kDurationUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::array<Unit, 4> kRateUnits = {
    {{"bps", 1}, {"Kbps", 1000}, {"Mbps", 1'000'000}, {"Gbps", 1'000'000'000}}};

tl::unexpected<Error> bad_quantity(std::string_view text, std::string_view field, std::string_view example) {
  return fail(Code::kInvalidArgument, "value.malformed",
              std::string(field) + ": " + quoted(text) + " is not a quantity",
              "write " + std::string(example));
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// One "<number>[.<fraction>]<unit>" from the front of `text`, which is shortened by it. Exact arithmetic: a
// fraction that does not come to a whole number of the smallest unit is refused.
Result<std::int64_t> take_quantity(std::string_view& text, std::span<const Unit> units,
                                   std::string_view whole, std::string_view field, std::string_view example) {
  std::int64_t integer = 0;
  const char* const end = text.data() + text.size();
  auto [after, status] = std::from_chars(text.data(), end, integer);
  if (status != std::errc() || integer < 0 || text.front() == '-') return bad_quantity(whole, field, example);
  std::int64_t fraction = 0;
  std::int64_t scale = 1;
  if (after != end && *after == '.') {
    const char* const digits = ++after;
    while (after != end && *after >= '0' && *after <= '9' && after - digits < 9) {
      fraction = fraction * 10 + (*after++ - '0');
      scale *= 10;
    }
    if (after == digits) return bad_quantity(whole, field, example);
  }
  const char* unit_end = after;
  while (unit_end != end && (*unit_end < '0' || *unit_end > '9') && *unit_end != '.') ++unit_end;
  const Unit* unit = find_unit(units, std::string_view(after, static_cast<std::size_t>(unit_end - after)));
  if (unit == nullptr) return bad_quantity(whole, field, example);
  __extension__ using Wide = __int128;
  const Wide total =
      static_cast<Wide>(integer) * unit->factor + static_cast<Wide>(fraction) * unit->factor / scale;
  if (total >= kUnlimited || static_cast<Wide>(fraction) * unit->factor % scale != 0) {
    return bad_quantity(whole, field, example);
  }
  text.remove_prefix(static_cast<std::size_t>(unit_end - text.data()));
  return static_cast<std::int64_t>(total);
}

Result<std::int64_t> parse_single(std::string_view text, std::span<const Unit> units, std::string_view field,
                                  std::string_view example) {
  if (text.empty() || text.size() > 32) return bad_quantity(text, field, example);
  std::string_view rest = text;
  TG_TRY(const std::int64_t value, take_quantity(rest, units, text, field, example));
  if (!rest.empty()) return bad_quantity(text, field, example);
  return value;
}

std::string format_with(std::int64_t value, std::span<const Unit> units, std::string_view smallest) {
  if (value >= kUnlimited) return "unlimited";
  std::string_view name = smallest;
  std::int64_t factor = 1;
  for (const Unit& unit : units) {
    const bool long_name = unit.name.size() != 2 || unit.name == "ms";
    if (long_name && value != 0 && value % unit.factor == 0 && unit.factor > factor) {
      name = unit.name;
      factor = unit.factor;
    }
  }
  return std::to_string(value / factor) + std::string(name);
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text, std::string_view field) {
  return parse_single(text, kByteUnits, field, "a number with a unit, for example 16GiB or 512MiB")
      .map([](std::int64_t value) { return Bytes(value); });
}

Result<std::int64_t> parse_bits_per_second(std::string_view text, std::string_view field) {
  return parse_single(text, kRateUnits, field, "a number with a unit, for example 10Gbps or 500Mbps");
}

Result<std::int64_t> parse_duration_ms(std::string_view text, std::string_view field) {
  constexpr std::string_view kExample = "a number with a unit, for example 90s, 15m, 24h or 1h30m";
  constexpr std::int64_t kTenYearsMs = 10LL * 365 * 86'400'000;
  if (text.empty() || text.size() > 32) return bad_quantity(text, field, kExample);
  std::string_view rest = text;
  std::int64_t total = 0;
  while (!rest.empty()) {
    TG_TRY(const std::int64_t part, take_quantity(rest, kDurationUnits, text, field, kExample));
    total += part;
    if (part > kTenYearsMs || total > kTenYearsMs) return bad_quantity(text, field, kExample);
  }
  return total;
}

std::string format_bytes(Bytes bytes) {
  return format_with(bytes.count, kByteUnits, "B");
}

std::string format_bits_per_second(std::int64_t bits_per_second) {
  return format_with(bits_per_second, kRateUnits, "bps");
}

std::string format_duration_ms(std::int64_t ms) {
  if (ms >= kUnlimited) return "unlimited";
  if (ms == 0) return "0s";
  std::string text;
  for (auto unit = kDurationUnits.rbegin(); unit != kDurationUnits.rend(); ++unit) {
    if (ms >= unit->factor) {
      text += std::to_string(ms / unit->factor) + std::string(unit->name);
      ms %= unit->factor;
    }
  }
  return text;
}

}  // namespace tangram

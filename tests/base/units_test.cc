#include "base/units.h"

#include <gtest/gtest.h>

#include <array>

namespace tangram {
namespace {

// Without this, a quota file that says 16GiB could mean something else than the user wrote.
TEST(Units, BytesAreReadInIecUnits) {
  EXPECT_EQ(parse_bytes("16GiB", "memory").value(), Bytes::gib(16));
  EXPECT_EQ(parse_bytes("16Gi", "memory").value(), Bytes::gib(16));
  EXPECT_EQ(parse_bytes("1.5GiB", "memory").value(), Bytes::mib(1536));
  EXPECT_EQ(parse_bytes("0B", "memory").value(), Bytes(0));
}

// Without this, a typing mistake would be taken for some other amount of memory.
TEST(Units, BadBytesNameFieldAndValue) {
  for (const char* text :
       {"", "16", "-1GiB", "16GB", "GiB", "1.GiB", "9999999999TiB", "1GiB1", "0.3B", "1e3MiB"}) {
    const auto result = parse_bytes(text, "spec.memory");
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
    EXPECT_NE(result.error().message.find("spec.memory"), std::string::npos);
    EXPECT_NE(result.error().hint.find("GiB"), std::string::npos);
  }
}

// Without this, a time limit could be off by a factor.
TEST(Units, DurationsAddUp) {
  EXPECT_EQ(parse_duration_ms("90s", "f").value(), 90'000);
  EXPECT_EQ(parse_duration_ms("1h30m", "f").value(), 5'400'000);
  EXPECT_EQ(parse_duration_ms("250ms", "f").value(), 250);
  EXPECT_FALSE(parse_duration_ms("90", "f"));
  EXPECT_FALSE(parse_duration_ms("-5s", "f"));
  EXPECT_FALSE(parse_duration_ms("999999d", "f"));
}

// Without this, what a user sees could not be typed back in.
TEST(Units, FormattedTextReadsBack) {
  for (const std::int64_t value :
       std::array<std::int64_t, 6>{0, 1, 1000, 1536LL << 20, 32LL << 30, 3LL << 40}) {
    EXPECT_EQ(parse_bytes(format_bytes(Bytes(value)), "f").value().count, value);
  }
  for (const std::int64_t value : std::array<std::int64_t, 5>{0, 250, 5'400'000, 86'400'000, 1}) {
    EXPECT_EQ(parse_duration_ms(format_duration_ms(value), "f").value(), value);
  }
  EXPECT_EQ(format_bits_per_second(10'000'000'000), "10Gbps");
  EXPECT_EQ(format_bytes(Bytes::unlimited()), "unlimited");
}

}  // namespace
}  // namespace tangram

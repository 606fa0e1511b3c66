#include "kube/admission/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tangram::kube::admission {
namespace {

// Without this, an amount that the API server has written in another form would be another amount.
TEST(Quantity, IsReadExactly) {
  struct Case {
    const char* text;
    std::int64_t value;
  };
  for (const Case& one : {Case{"0", 0},
                          {"1", 1},
                          {"+7", 7},
                          {"-7", -7},
                          {"00012", 12},
                          {"3k", 3'000},
                          {"12k", 12'000},
                          {"1.5k", 1'500},
                          {"2M", 2'000'000},
                          {"1G", 1'000'000'000},
                          {"9E", 9'000'000'000'000'000'000},
                          {"4Ki", 4'096},
                          {"16Gi", std::int64_t{16} << 30},
                          {"1.5Ki", 1'536},
                          {"0.5Mi", 524'288},
                          {"0.0009765625Ki", 1},
                          {"7Ei", std::int64_t{7} << 60},
                          {"1e3", 1'000},
                          {"1E3", 1'000},
                          {"12e+2", 1'200},
                          {"4096e0", 4'096},
                          {"1200e-2", 12},
                          {"5000m", 5},
                          {"7000000u", 7},
                          {"8000000000n", 8},
                          {"1.000000000000000000000000000000", 1},
                          {".5k", 500},
                          {"5.", 5},
                          {"0.0", 0},
                          {"0Ei", 0},
                          {"0e999", 0},
                          {"9223372036854775807", std::numeric_limits<std::int64_t>::max()}}) {
    const auto value = whole_quantity(one.text);
    ASSERT_TRUE(value) << one.text;
    EXPECT_EQ(*value, one.value) << one.text;
  }
}

// Without this, half an NPU would be rounded, and what is too much would wrap around.
TEST(Quantity, WhatIsNoWholeNumberIsRefused) {
  struct Case {
    const char* text;
    QuantityFault fault;
  };
  for (const Case& one : {Case{"", QuantityFault::kSyntax},
                          {"-", QuantityFault::kSyntax},
                          {".", QuantityFault::kSyntax},
                          {"k", QuantityFault::kSyntax},
                          {"1 ", QuantityFault::kSyntax},
                          {"1K", QuantityFault::kSyntax},
                          {"1ki", QuantityFault::kSyntax},
                          {"1e", QuantityFault::kSyntax},
                          {"1e1.5", QuantityFault::kSyntax},
                          {"1e+-3", QuantityFault::kSyntax},
                          {"1e99999", QuantityFault::kSyntax},
                          {"0x10", QuantityFault::kSyntax},
                          {"1.2.3", QuantityFault::kSyntax},
                          {"NaN", QuantityFault::kSyntax},
                          {"0.5", QuantityFault::kFraction},
                          {"1m", QuantityFault::kFraction},
                          {"4096m", QuantityFault::kFraction},
                          {"1.0001k", QuantityFault::kFraction},
                          {"0.3Ki", QuantityFault::kFraction},
                          {"1e-3", QuantityFault::kFraction},
                          {"9223372036854775808", QuantityFault::kRange},
                          {"99999999999999999999999", QuantityFault::kRange},
                          {"8Ei", QuantityFault::kRange},
                          {"10E", QuantityFault::kRange},
                          {"1e19", QuantityFault::kRange}}) {
    const auto value = whole_quantity(one.text);
    ASSERT_FALSE(value) << one.text;
    EXPECT_EQ(value.error(), one.fault) << one.text;
  }
  EXPECT_FALSE(whole_quantity(std::string(100, '1')));
  EXPECT_FALSE(whole_quantity("1." + std::string(100, '0')));
}

}  // namespace
}  // namespace tangram::kube::admission

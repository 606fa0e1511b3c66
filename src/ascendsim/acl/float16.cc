#include "ascendsim/acl/float16.h"

#include <bit>

namespace ascendsim {

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half} >> 15 << 31;
  const std::uint32_t exponent = (half >> 10) & 0x1F;
  const std::uint32_t fraction = half & 0x3FF;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  // Zero or subnormal: fraction * 2^-24, exact in a float.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << 15;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);   // NaN
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // rounds to 65536 or more
  if (magnitude < 0x38800000U) {
    // Below the smallest normal half: adding 0.5 lets the float unit round to a multiple of 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

}  // namespace ascendsim

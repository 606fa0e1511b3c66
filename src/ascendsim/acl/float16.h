// IEEE 754 half precision in software, so that the result is the same on every host.
#pragma once

#include <cstdint>

namespace ascendsim {

float half_to_float(std::uint16_t half);
// Nearest, ties to even; overflow becomes infinity, NaN stays NaN.
std::uint16_t float_to_half(float value);

}  // namespace ascendsim

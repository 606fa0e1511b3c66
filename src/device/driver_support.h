// Which drivers and boards this product is made for. What works is found out by asking the device; this says
// what to expect of it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "catalog/chip.h"
#include "ports/devices.h"

namespace tangram::device {

// The oldest driver release that the vendor's own slicing components ask for.
inline constexpr std::string_view kSupportedDriver = "25.5";

// "25.5.0", "24.1.rc1": by the first two numbers. kUnknown for an empty version, or one that does not begin
// with them.
DriverStanding standing_of(std::string_view driver_version);

// `note` is set where the answer is not simply that the board is listed.
struct BoardStanding {
  SliceSupport support = SliceSupport::kUnknown;
  std::string note;
};
// By the first of `chips` that matches.
BoardStanding board_standing(std::span<const ChipModel> chips, const ChipIdentity& npu);

}  // namespace tangram::device

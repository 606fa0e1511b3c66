#include "device/driver_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::device {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Kind = DriverStanding::Kind;

BoardStanding standing(std::string_view chip, std::optional<std::uint32_t> board, std::int32_t cores = 20,
                       Bytes memory = Bytes::gib(32)) {
  return board_standing(builtin_chips(), {chip, board, cores, memory});
}

// Without it an old driver would go unnoticed, or a good one be blamed: versions are numbers, not texts.
TEST(DriverSupport, VersionsAreComparedAsNumbers) {
  for (const char* version : {"22.0.4", "23.0.7", "24.1.rc1", "25.2.0", "25.4.9", "9.9"}) {
    EXPECT_EQ(standing_of(version).kind, Kind::kBelow) << version;
    EXPECT_THAT(standing_of(version).note,
                HasSubstr(std::string("driver ") + version + " is older than 25.5"));
  }
  for (const char* version : {"25.5", "25.5.0", "25.5.1.b050", "25.10.0", "26.0.RC1", "100.0.1"}) {
    EXPECT_EQ(standing_of(version).kind, Kind::kSupported) << version;
    EXPECT_THAT(standing_of(version).note, IsEmpty());
  }
}

// Without it a version that cannot be read would count as old or as supported.
TEST(DriverSupport, WhatIsNoVersionIsUnknown) {
  for (const char* version :
       {"", "x", "25", "25.", "25.x", "v25.5", "-1.5", "25.5x", "99999999999999999999.1"}) {
    EXPECT_EQ(standing_of(version).kind, Kind::kUnknown) << version;
    EXPECT_THAT(standing_of(version).note, HasSubstr("not known"));
  }
}

// Without it an operator would look for templates on a board that has none, or miss them on one that has.
TEST(DriverSupport, BoardsAreLookedUpWithTheirChip) {
  EXPECT_EQ(standing("310P3", 0x64, 8, Bytes::mib(21'527)).support, SliceSupport::kListed);
  EXPECT_EQ(standing("910B4", 0x33).support, SliceSupport::kListed);
  EXPECT_EQ(standing("910B2", 0x30, 24, Bytes::gib(64)).support, SliceSupport::kListed);
  EXPECT_EQ(standing("910ProA", 0x28, 32).support, SliceSupport::kListed);
  EXPECT_THAT(standing("910B4", 0x33).note, IsEmpty());
  EXPECT_EQ(standing("310B4", 0x42).support, SliceSupport::kNotCut);
  EXPECT_EQ(standing("310", 0x42).support, SliceSupport::kNotCut);
  EXPECT_EQ(standing("Ascend950PR", 1).support, SliceSupport::kNotCut);
}

// Without it what is not known of a board would be silent, or refused although the driver can.
TEST(DriverSupport, UnlistedBoardIsNamed) {
  const BoardStanding odd = standing("910B4", 0x99);
  EXPECT_EQ(odd.support, SliceSupport::kUnknown);
  EXPECT_THAT(odd.note,
              HasSubstr("board 0x99 of 910B4 is not in the support table: its templates are taken"));
  EXPECT_THAT(standing("910B4", std::nullopt).note, HasSubstr("does not tell its id"));
  EXPECT_EQ(standing("Ascend910", 0xb3, 20, Bytes::gib(64)).support, SliceSupport::kUnknown);
  EXPECT_THAT(standing("Ascend910", 0xb3, 20, Bytes::gib(64)).note, HasSubstr("by some drivers only"));
  EXPECT_THAT(standing("", 1).note, HasSubstr("an unnamed chip"));
}

// Without it a chip that the operator has described would go on being called unknown.
TEST(DriverSupport, OperatorsChipIsListed) {
  std::vector<ChipModel> own(1);
  own.front().match.chips = {"910C9"};
  EXPECT_EQ(standing("910C9", 7).support, SliceSupport::kUnknown);
  EXPECT_EQ(board_standing(own, {"910C9", 7, 20, Bytes::gib(64)}).support, SliceSupport::kListed);
}

}  // namespace
}  // namespace tangram::device

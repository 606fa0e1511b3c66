// Which refusals of a driver keep an NPU from being cut, for how long, and what ends that.
#include "service/cut_refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace tangram::service {
namespace {

using std::chrono::minutes;
using Pause = CutRefusals::Pause;

Error answer(std::string_view reason) {
  return {Code::kFailedPrecondition, std::string(reason), "as the test wants it", {}, {}, nullptr};
}

DeviceScan scan_of(SliceSupport support, const std::string& driver = "25.5.0", std::uint32_t board = 0x33) {
  DeviceScan scan;
  scan.driver_version = driver;
  DeviceNpu& npu = scan.npus.emplace_back();
  npu.board_id = Sample<std::uint32_t>::known(board);
  npu.slicing.support = support;
  return scan;
}

class CutRefusalsTest : public testing::Test {
 protected:
  bool keeps(std::string_view reason, int in_a_row = 1) {
    return refusals_.refused(0, answer(reason), in_a_row, now_).has_value();
  }
  bool stands() const { return refusals_.standing(now_).contains(0); }

  CutRefusals refusals_{minutes(10), minutes(60)};
  CutRefusals::Time now_ = CutRefusals::Time() + std::chrono::hours(1);
};

// Without it a driver that cannot, or will not, would be asked again and again.
TEST_F(CutRefusalsTest, CannotAndMayNotStandAtOnce) {
  for (const std::string_view reason : {slice_reason::kUnsupported, slice_reason::kNotPermitted}) {
    refusals_.made(0);
    EXPECT_TRUE(keeps(reason));
    const StandingRefusals standing = refusals_.standing(now_);
    ASSERT_TRUE(standing.contains(0));
    EXPECT_EQ(standing.at(0).reason, reason);
    EXPECT_EQ(standing.at(0).why, "as the test wants it");
    EXPECT_FALSE(standing.contains(1));
  }
}

// Without it a hiccup of the driver, or an NPU that is full for a moment, would take its slices for minutes.
TEST_F(CutRefusalsTest, WhatMayPassStandsOnlyAfterManyInARow) {
  refusals_.looked(scan_of(SliceSupport::kListed));
  for (const std::string_view reason :
       {slice_reason::kRefused, slice_reason::kInvalid, slice_reason::kNoCapacity}) {
    EXPECT_FALSE(keeps(reason, CutRefusals::kInARowMost - 1)) << reason;
    EXPECT_FALSE(stands());
    EXPECT_TRUE(keeps(reason, CutRefusals::kInARowMost)) << reason;
    EXPECT_TRUE(stands());
    refusals_.made(0);
  }
  for (const std::string_view reason :
       {slice_reason::kUnsettled, slice_reason::kExists, std::string_view("device.npu.hung")}) {
    EXPECT_FALSE(keeps(reason, 100)) << reason << " is no answer about cutting";
  }
}

// Without it a board of which it is only guessed how it is cut would be tried as long as one that is known.
TEST_F(CutRefusalsTest, ABoardThatOnlySomeDriversCutIsBelievedTheFirstTime) {
  refusals_.looked(scan_of(SliceSupport::kUnknown));
  EXPECT_FALSE(keeps(slice_reason::kNoCapacity)) << "want of room says nothing of the board";
  EXPECT_TRUE(keeps(slice_reason::kRefused));
}

// Without it an upgrade of the driver, another board or the right mode would need a restart, too.
TEST_F(CutRefusalsTest, AChangeThatMayHelpEndsIt) {
  const auto refuse = [this] {
    DeviceScan before = scan_of(SliceSupport::kListed);
    before.slices_for_containers = Sample<bool>::known(false);
    refusals_.looked(before);
    ASSERT_TRUE(keeps(slice_reason::kNotPermitted));
    refusals_.looked(before);
    ASSERT_TRUE(stands()) << "nothing has changed";
  };
  refuse();
  refusals_.looked(scan_of(SliceSupport::kListed, ""));
  EXPECT_TRUE(stands()) << "what is not told has not changed";
  refusals_.looked(scan_of(SliceSupport::kListed, "26.0.0"));
  EXPECT_FALSE(stands());
  refuse();
  refusals_.looked(scan_of(SliceSupport::kListed, "25.5.0", 0x34));
  EXPECT_FALSE(stands());
  refuse();
  DeviceScan mode = scan_of(SliceSupport::kListed);
  mode.slices_for_containers = Sample<bool>::known(true);
  refusals_.looked(mode);
  EXPECT_FALSE(stands());
}

// Without it an operator who puts the driver's file right, as doctor says, would see no difference for
// minutes.
TEST_F(CutRefusalsTest, AMendedFileOfTheDriverEndsIt) {
  using State = RecoverFile::State;
  const auto look = [this](State state) {
    DeviceScan scan = scan_of(SliceSupport::kUnknown);
    scan.recover_file.state = state;
    refusals_.looked(scan);
  };
  for (const State bad : {State::kDamaged, State::kUnwritable}) {
    look(bad);
    ASSERT_TRUE(keeps(slice_reason::kRefused));
    look(bad);
    EXPECT_TRUE(stands()) << "nothing has changed";
    look(State::kUnknown);
    EXPECT_TRUE(stands()) << "what is not told has not changed";
    look(State::kSound);
    EXPECT_FALSE(stands());
  }
  look(State::kSound);
  ASSERT_TRUE(keeps(slice_reason::kRefused));
  look(State::kSound);
  EXPECT_TRUE(stands()) << "it was sound all the time";
  look(State::kDamaged);
  EXPECT_TRUE(stands()) << "that helps nobody";
  look(State::kSound);
  EXPECT_FALSE(stands()) << "it went bad between two looks";
}

// Without it a fault of the driver's file that no look shows would keep the NPU uncut for minutes after it is
// mended, and doctor be silent meanwhile.
TEST_F(CutRefusalsTest, AFileThatTheDriverCannotUseNeverStandsUnseen) {
  using State = RecoverFile::State;
  DeviceScan scan = scan_of(SliceSupport::kUnknown);
  scan.recover_file.state = State::kSound;
  refusals_.looked(scan);
  EXPECT_FALSE(refusals_.unusable_file(now_));
  EXPECT_FALSE(keeps(slice_reason::kFileUnusable, 10 * CutRefusals::kInARowMost));
  EXPECT_FALSE(stands());
  ASSERT_TRUE(refusals_.unusable_file(now_));
  EXPECT_EQ(refusals_.unusable_file(now_)->why, "as the test wants it");
  EXPECT_FALSE(refusals_.unusable_file(now_ + minutes(10))) << "nobody has tried for long";
  refusals_.made(3);
  EXPECT_FALSE(refusals_.unusable_file(now_)) << "the file is the machine's";
  scan.recover_file.state = State::kLockUnusable;
  refusals_.looked(scan);
  EXPECT_FALSE(keeps(slice_reason::kFileUnusable, CutRefusals::kInARowMost - 1));
  EXPECT_TRUE(keeps(slice_reason::kFileUnusable, CutRefusals::kInARowMost));
  EXPECT_TRUE(stands());
  scan.recover_file.state = State::kSound;
  refusals_.looked(scan);
  EXPECT_FALSE(stands());
  EXPECT_FALSE(refusals_.unusable_file(now_));
}

// Without it a right that was given would never be found, or be looked for too often.
TEST_F(CutRefusalsTest, ItIsTriedAgainAfterPausesThatDouble) {
  for (const int pause : {10, 20, 40, 60, 60}) {
    const auto told = refusals_.refused(0, answer(slice_reason::kUnsupported), 1, now_);
    EXPECT_EQ(told, Pause(minutes(pause)));
    now_ += minutes(pause) - Pause(1);
    EXPECT_TRUE(stands());
    EXPECT_EQ(refusals_.refused(0, answer(slice_reason::kUnsupported), 1, now_), Pause(1))
        << "an order that was under way is no further try";
    now_ += Pause(1);
    EXPECT_FALSE(stands()) << pause;
  }
  refusals_.made(0);
  EXPECT_EQ(refusals_.refused(0, answer(slice_reason::kUnsupported), 1, now_), Pause(minutes(10)));
}

}  // namespace
}  // namespace tangram::service

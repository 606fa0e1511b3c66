#include "device/dcmi/slice_settlement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/dcmi/abi.h"

namespace tangram::device {
namespace {

using testing::HasSubstr;

DeviceSlicing with(const std::vector<std::pair<std::uint32_t, std::string>>& slices) {
  DeviceSlicing slicing;
  slicing.slices.valid = true;
  for (const auto& [id, name] : slices) {
    DeviceSlice slice;
    slice.id = id;
    if (!name.empty()) slice.template_name = Sample<std::string>::known(name);
    slicing.slices.value.push_back(slice);
  }
  return slicing;
}

Result<HelperAnswer> answered(std::int32_t code, std::uint32_t id = 0) {
  HelperAnswer answer;
  answer.kind = code == 0 ? AnswerKind::kDone : AnswerKind::kFailed;
  answer.text = "dcmi_call";
  answer.code = code;
  if (code == 0) answer.numbers = {static_cast<std::int32_t>(id)};
  return answer;
}

Result<HelperAnswer> cut_off() {
  return fail(Code::kDeadlineExceeded, "device.call.hung", "dcmi_call did not answer in time");
}

Result<DeviceSlicing> unreadable() {
  return fail(Code::kUnavailable, "device.helper.died", "the helper ended");
}

// "made", or the reason of the error.
std::string create(std::optional<std::uint32_t> id, const DeviceSlicing& before,
                   const Result<HelperAnswer>& answer, const Result<DeviceSlicing>& after) {
  const auto made = settle_create({0, "vir04", id}, before, answer, after);
  return made ? "made " + std::to_string(made->id) : made.error().reason;
}

std::string destroy(const Result<HelperAnswer>& answer, const Result<DeviceSlicing>& after) {
  const auto gone = settle_destroy(0, 100, answer, after);
  return gone ? "gone" : gone.error().reason;
}

// Without it a slice could be lost (booked as failed, and there) or invented (booked, and not there).
TEST(SliceSettlement, TheHardwareDecidesWhetherAnOrderedSliceIsThere) {
  const DeviceSlicing none = with({});
  const DeviceSlicing one = with({{100, "vir04"}});
  const std::string unsettled(slice_reason::kUnsettled);
  const std::string refused(slice_reason::kRefused);
  EXPECT_EQ(create(100, none, answered(0, 100), one), "made 100");
  EXPECT_EQ(create(100, none, answered(0, 100), with({{100, ""}})), "made 100") << "its name is not told";
  EXPECT_EQ(create(100, none, answered(-8001), one), "made 100");
  EXPECT_EQ(create(100, none, cut_off(), one), "made 100");
  EXPECT_EQ(create(100, none, answered(0, 100), none), refused);
  EXPECT_EQ(create(100, none, answered(-8005), none), refused);
  EXPECT_EQ(create(100, none, answered(abi::kFile), none), slice_reason::kFileUnusable);
  EXPECT_EQ(create(100, none, cut_off(), none), unsettled) << "it may still be made";
  EXPECT_EQ(create(100, none, answered(0, 100), unreadable()), unsettled);
  EXPECT_EQ(create(100, none, cut_off(), unreadable()), unsettled);
  EXPECT_EQ(create(100, none, answered(0, 100), with({{100, "vir01"}})), unsettled) << "another's";
}

// Without it an order without an id would adopt whatever appeared meanwhile.
TEST(SliceSettlement, WithoutAnIdOnlyTheToldOrTheOnlyNewOneCounts) {
  const DeviceSlicing before = with({{101, "vir04"}});
  const std::string unsettled(slice_reason::kUnsettled);
  EXPECT_EQ(create({}, before, answered(0, 100), with({{100, "vir04"}, {101, "vir04"}})), "made 100");
  EXPECT_EQ(create({}, before, answered(0, 4711), with({{101, "vir04"}, {102, "vir04"}})), "made 102");
  EXPECT_EQ(create({}, before, answered(0, 101), with({{101, "vir04"}, {102, "vir04"}})), "made 102");
  EXPECT_EQ(create({}, before, answered(0, 4711), with({{101, "vir04"}, {102, "vir04"}, {103, "vir04"}})),
            unsettled);
  EXPECT_EQ(create({}, before, answered(-8005), with({{101, "vir04"}, {102, "vir04"}})), unsettled);
  EXPECT_EQ(create({}, before, answered(-8005), with({{101, "vir04"}, {102, "vir01"}})),
            slice_reason::kRefused);
  EXPECT_EQ(create({}, before, cut_off(), with({{101, "vir04"}, {102, "vir04"}})), unsettled);
  EXPECT_EQ(create({}, before, answered(0, 101), before), slice_reason::kRefused);
}

// Without it a job would be told that no template fits when there is room for others, or the reverse.
TEST(SliceSettlement, WantOfRoomIsToldFromOtherRefusals) {
  DeviceSlicing after = with({});
  after.free.ai_cores_milli = Sample<std::int32_t>::known(3'500);
  after.free.ai_cpus = Sample<std::int32_t>::known(3);
  const auto made = settle_create({0, "vir04", 100}, with({}), answered(-8001), after);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, slice_reason::kNoCapacity);
  EXPECT_EQ(made.error().code, Code::kNotNow);
  EXPECT_THAT(made.error().message, HasSubstr("free: 3.5 AI cores, 3 AI CPUs"));
  after.free.ai_cores_milli.value = 4'000;
  EXPECT_EQ(create(100, with({}), answered(-8001), after), slice_reason::kRefused);
  const auto media = settle_create({0, "vir04_4c_dvpp", 100}, with({}), answered(-8001), after);
  ASSERT_FALSE(media);
  EXPECT_EQ(media.error().reason, slice_reason::kNoCapacity) << "4 AI CPUs, and 3 are free";
}

// Without it a slice that the driver kept would be given out again.
TEST(SliceSettlement, TheHardwareDecidesWhetherASliceIsGone) {
  const DeviceSlicing none = with({});
  const DeviceSlicing still = with({{100, "vir04"}});
  const std::string unsettled(slice_reason::kUnsettled);
  EXPECT_EQ(destroy(answered(0), none), "gone");
  EXPECT_EQ(destroy(answered(abi::kDeviceNotExist), none), "gone");
  EXPECT_EQ(destroy(answered(-8001), none), "gone");
  EXPECT_EQ(destroy(cut_off(), none), "gone");
  EXPECT_EQ(destroy(answered(0), still), slice_reason::kRefused);
  EXPECT_EQ(destroy(answered(abi::kInvalidParameter), still), slice_reason::kInUse);
  EXPECT_EQ(destroy(answered(abi::kOccupied), still), slice_reason::kInUse);
  EXPECT_EQ(destroy(answered(abi::kNotInContainer), still), slice_reason::kInUse);
  EXPECT_EQ(destroy(answered(abi::kFile), still), slice_reason::kRefused);
  EXPECT_EQ(destroy(cut_off(), still), unsettled);
  EXPECT_EQ(destroy(answered(0), unreadable()), unsettled);
}

// Without it a setting that did not take would be reported as done.
TEST(SliceSettlement, SettingIsWhatTheDriverSaysAfterwards) {
  const auto settle = [](const Result<HelperAnswer>& answer, const Result<Field<bool>>& after) {
    const auto settled = settle_switch("turning it on", true, answer, after);
    return settled ? std::string("on") : settled.error().reason;
  };
  const Result<Field<bool>> lost = fail(Code::kUnavailable, "device.helper.died", "the helper ended");
  EXPECT_EQ(settle(answered(0), Field<bool>::known(true)), "on");
  EXPECT_EQ(settle(cut_off(), Field<bool>::known(true)), "on");
  EXPECT_EQ(settle(answered(0), Field<bool>{}), "on") << "a driver that cannot tell";
  EXPECT_EQ(settle(answered(0), Field<bool>::known(false)), slice_reason::kRefused);
  EXPECT_EQ(settle(answered(-8005), Field<bool>::known(false)), slice_reason::kRefused);
  EXPECT_EQ(settle(cut_off(), Field<bool>::known(false)), slice_reason::kUnsettled);
  EXPECT_EQ(settle(answered(0), lost), slice_reason::kUnsettled);
}

// Without it the judgement of a refusal would read sizes out of names that have none.
TEST(SliceSettlement, NeedIsReadFromTheName) {
  EXPECT_EQ(need_of("vir01").ai_cores, 1);
  EXPECT_EQ(need_of("vir01").ai_cpus, 1);
  EXPECT_EQ(need_of("vir10_3c_16g_nm").ai_cores, 10);
  EXPECT_EQ(need_of("vir10_3c_16g_nm").ai_cpus, 3);
  EXPECT_EQ(need_of("vir04_4c_dvpp").ai_cpus, 4);
  EXPECT_EQ(need_of("vir12_x").ai_cpus, 1);
  EXPECT_EQ(need_of("whole").ai_cores, 0);
  EXPECT_EQ(need_of("whole").ai_cpus, 0);
  EXPECT_EQ(need_of("vir").ai_cores, 0);
  EXPECT_EQ(need_of("vir99999999999").ai_cores, 0);
}

// Without it 65535 could pass for a slice of an NPU with a high number.
TEST(SliceIds, NoNpuHasTheIdThatMeansAll) {
  for (std::uint32_t npu = 0; npu < 5000; ++npu) {
    EXPECT_FALSE(is_slice_id(npu, 65535)) << npu;
  }
  EXPECT_FALSE(is_slice_id(4089, 65535));
  EXPECT_FALSE(is_slice_id(0xFFFFFFFFU, 100));
  EXPECT_TRUE(is_slice_id(0, 100));
  EXPECT_TRUE(is_slice_id(0, 115));
  EXPECT_FALSE(is_slice_id(0, 116));
  EXPECT_TRUE(is_slice_id(63, 1123));
}

}  // namespace
}  // namespace tangram::device

#include "device/dcmi/npu_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/dcmi/abi.h"

namespace tangram::device {
namespace {

using testing::HasSubstr;

DeviceNpu with_health(Field<std::uint32_t> health) {
  NpuTelemetry telemetry;
  telemetry.health = health;
  DeviceNpu entry;
  fill_health(telemetry, entry);
  fill_use(telemetry, {}, entry);
  return entry;
}

// Without it a critical NPU could be handed out, or a good one withheld.
TEST(NpuEntry, HealthFollowsTheVendorsScale) {
  EXPECT_EQ(with_health(Field<std::uint32_t>::known(0)).health, Health::kOk);
  EXPECT_EQ(with_health(Field<std::uint32_t>::known(1)).health, Health::kWarning);
  EXPECT_EQ(with_health(Field<std::uint32_t>::known(2)).health, Health::kAlarm);
  EXPECT_EQ(with_health(Field<std::uint32_t>::known(3)).health, Health::kCritical);
  EXPECT_EQ(with_health(Field<std::uint32_t>::known(abi::kHealthAbsent)).health, Health::kAbsent);
}

// Without it a dropped card would be "unknown" for ever and nobody would look for it.
TEST(NpuEntry, NotReadyAndNotExistingAreAbsentWithTheCodeInTheNote) {
  for (const std::int32_t code : {abi::kNotReady, abi::kDeviceNotExist, abi::kInvalidDevice}) {
    const DeviceNpu entry = with_health(Field<std::uint32_t>::unknown(code));
    EXPECT_EQ(entry.health, Health::kAbsent);
    EXPECT_THAT(entry.health_note, HasSubstr(std::to_string(code)));
  }
  EXPECT_EQ(with_health(Field<std::uint32_t>::unknown(abi::kInner)).health, Health::kUnknown);
}

// Without it an old helper would be thrown away because one release lacks one call.
TEST(NpuEntry, OnlyADeviceThatIsGoneCountsAsLostDriver) {
  NpuTelemetry telemetry;
  EXPECT_FALSE(is_driver_lost(telemetry));  // the symbol is missing
  telemetry.health = Field<std::uint32_t>::unknown(abi::kNotSupported);
  EXPECT_FALSE(is_driver_lost(telemetry));
  telemetry.health = Field<std::uint32_t>::known(3);
  EXPECT_FALSE(is_driver_lost(telemetry));
  telemetry.health = Field<std::uint32_t>::unknown(abi::kNotReady);
  EXPECT_TRUE(is_driver_lost(telemetry));
}

// Without it a note about forty error codes would flood every table.
TEST(NpuEntry, LongListOfErrorCodesIsCut) {
  NpuTelemetry telemetry;
  telemetry.health = Field<std::uint32_t>::known(3);
  telemetry.error_codes =
      Field<std::vector<std::uint32_t>>::known(std::vector<std::uint32_t>(20, 0x80E01801U));
  DeviceNpu entry;
  fill_health(telemetry, entry);
  fill_use(telemetry, {}, entry);
  EXPECT_THAT(entry.health_note, HasSubstr("and 12 more"));
}

}  // namespace
}  // namespace tangram::device

#include "device/dcmi/helper_protocol.h"

#include <gtest/gtest.h>

namespace tangram::device {
namespace {

HelperAnswer full_answer() {
  HelperAnswer answer;
  answer.kind = AnswerKind::kDone;
  answer.text = "/x/libdcmi.so";
  answer.numbers = {7, 0, 3};
  answer.driver_version = "25.2.0";
  answer.identity.phy_id = Field<std::uint32_t>::known(4);
  answer.identity.chip_name = Field<std::string>::known("910B4");
  answer.telemetry.health = Field<std::uint32_t>::unknown(-8012);
  answer.telemetry.temperature_celsius = Field<std::int32_t>::known(-5);
  answer.telemetry.memory_total_bytes = Field<std::uint64_t>::known(32ULL << 30);
  answer.telemetry.processes = Field<std::vector<ProcessUse>>::known({{42, 512}});
  return answer;
}

// Without it a field could be written and read in different order, and values swap silently.
TEST(HelperProtocol, AnswerSurvivesTheWay) {
  const auto back = decode_answer(encode(full_answer()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, AnswerKind::kDone);
  EXPECT_EQ(back->text, "/x/libdcmi.so");
  EXPECT_EQ(back->numbers, (std::vector<std::int32_t>{7, 0, 3}));
  EXPECT_EQ(back->driver_version, "25.2.0");
  EXPECT_EQ(back->identity.phy_id.value, 4U);
  EXPECT_EQ(back->identity.chip_name.value, "910B4");
  EXPECT_FALSE(back->telemetry.health.valid);
  EXPECT_EQ(back->telemetry.health.code, -8012);
  EXPECT_EQ(back->telemetry.temperature_celsius.value, -5);
  EXPECT_EQ(back->telemetry.memory_total_bytes.value, 32ULL << 30);
  ASSERT_EQ(back->telemetry.processes.value.size(), 1U);
  EXPECT_EQ(back->telemetry.processes.value[0].pid, 42);
}

// Without it a helper that died in the middle of an answer would hand over half of one.
TEST(HelperProtocol, EveryTruncationIsRefused) {
  const std::string whole = encode(full_answer());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_answer(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_answer(whole + "x"));
}

// Without it a count made up by broken vendor code would make the daemon allocate gigabytes.
TEST(HelperProtocol, AbsurdCountIsRefused) {
  std::string bytes = encode(HelperRequest{});
  const std::string huge = "\xFF\xFF\xFF\x7F";
  bytes.replace(bytes.size() - 4, 4, huge);
  EXPECT_FALSE(decode_request(bytes));
}

// Without it an unknown operation would be read past the end of the enum.
TEST(HelperProtocol, UnknownOperationIsRefused) {
  std::string bytes = encode(HelperRequest{});
  bytes[0] = 99;
  EXPECT_FALSE(decode_request(bytes));
}

}  // namespace
}  // namespace tangram::device

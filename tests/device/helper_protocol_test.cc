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
  VnpuReading vnpu;
  vnpu.id = 103;
  vnpu.template_name = Field<std::string>::known("vir04");
  vnpu.container_used = Field<bool>::known(true);
  vnpu.container_id = Field<std::uint64_t>::known(0xFFFFFFFFFFFFULL);
  vnpu.vgroup_id = Field<std::uint32_t>::known(2);
  vnpu.resources.ai_cores_milli = Field<std::uint32_t>::known(4000);
  vnpu.memory_usable_bytes = Field<std::uint64_t>::known(10763ULL << 20);
  answer.slicing.vnpus = Field<std::vector<VnpuReading>>::known({vnpu});
  answer.slicing.total.pngd_milli = Field<std::uint32_t>::unknown(-8255);
  answer.slicing.free.ai_cpus = Field<std::uint32_t>::known(3);
  answer.slicing.device_share = Field<bool>::known(false);
  answer.modes.slices_recover = Field<bool>::known(true);
  answer.modes.recover_file = {RecoverFile::State::kUnwritable, {}, "line\n3", 30, {}};
  answer.events =
      Field<std::vector<EventReading>>::known({{0x80E01801U, 4, 2, 1, 1'700'000'000'123ULL, "HBM"}});
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

// Without it a slice could come out with another one's template or as another size.
TEST(HelperProtocol, SlicesAndEventsSurviveTheWay) {
  const auto back = decode_answer(encode(full_answer()));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->slicing.vnpus.value.size(), 1U);
  const VnpuReading& vnpu = back->slicing.vnpus.value[0];
  EXPECT_EQ(vnpu.id, 103U);
  EXPECT_EQ(vnpu.template_name.value, "vir04");
  EXPECT_TRUE(vnpu.container_used.valid && vnpu.container_used.value);
  EXPECT_EQ(vnpu.container_id.value, 0xFFFFFFFFFFFFULL);
  EXPECT_EQ(vnpu.vgroup_id.value, 2U);
  EXPECT_EQ(vnpu.resources.ai_cores_milli.value, 4000U);
  EXPECT_FALSE(vnpu.resources.memory_bytes.valid);
  EXPECT_EQ(vnpu.memory_usable_bytes.value, 10763ULL << 20);
  EXPECT_EQ(back->slicing.total.pngd_milli.code, -8255);
  EXPECT_EQ(back->slicing.free.ai_cpus.value, 3U);
  EXPECT_TRUE(back->slicing.device_share.valid);
  EXPECT_FALSE(back->slicing.device_share.value);
  EXPECT_TRUE(back->modes.slices_recover.value);
  EXPECT_FALSE(back->modes.for_containers.valid);
  EXPECT_EQ(back->modes.recover_file.state, RecoverFile::State::kUnwritable);
  EXPECT_EQ(back->modes.recover_file.why, "line?3");
  EXPECT_EQ(back->modes.recover_file.error_number, 30);
  ASSERT_EQ(back->events.value.size(), 1U);
  EXPECT_EQ(back->events.value[0].code, 0x80E01801U);
  EXPECT_EQ(back->events.value[0].logic_id, 4U);
  EXPECT_EQ(back->events.value[0].raised_at_ms, 1'700'000'000'123ULL);
  EXPECT_EQ(back->events.value[0].name, "HBM");
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
  bytes.replace(bytes.size() - 12, 4, huge);  // before the number and the vGroup
  EXPECT_FALSE(decode_request(bytes));
}

// Without it an order could cut another size, or heal another slice, than was asked.
TEST(HelperProtocol, OrderSurvivesTheWay) {
  HelperRequest request;
  request.operation = Operation::kCreateSlice;
  request.address = {7, 1};
  request.texts = {"vir10_3c_16g_nm"};
  request.number = 115;
  request.vgroup = 3;
  const auto back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->operation, Operation::kCreateSlice);
  EXPECT_EQ(back->address, (NpuAddress{7, 1}));
  EXPECT_EQ(back->texts, std::vector<std::string>{"vir10_3c_16g_nm"});
  EXPECT_EQ(back->number, 115U);
  EXPECT_EQ(back->vgroup, 3);
}

// Without it an unknown operation would be read past the end of the enum.
TEST(HelperProtocol, UnknownOperationIsRefused) {
  std::string bytes = encode(HelperRequest{});
  bytes[0] = 99;
  EXPECT_FALSE(decode_request(bytes));
}

// Without it a helper whose memory the vendor's code has spoilt could hand over sizes below zero, which end
// the daemon and make its snapshots unreadable, or drive a terminal by a name.
TEST(HelperProtocol, WhatCannotBeIsNotBelieved) {
  HelperAnswer answer = full_answer();
  answer.driver_version = "25\x1b[2J";
  answer.identity.phy_id = Field<std::uint32_t>::known(5'000'000);
  answer.identity.chip_name = Field<std::string>::known("910\nB4");
  answer.identity.chip_version = Field<std::string>::known(std::string(4'000, 'V'));
  answer.identity.aicore_count = Field<std::uint32_t>::known(0);
  answer.telemetry.health = Field<std::uint32_t>::known(17);
  answer.telemetry.memory_total_bytes = Field<std::uint64_t>::known(~0ULL);
  answer.telemetry.memory_used_bytes = Field<std::uint64_t>::known(1ULL << 63);
  answer.telemetry.aicore_percent = Field<std::uint32_t>::known(101);
  answer.telemetry.temperature_celsius = Field<std::int32_t>::known(1'000);
  answer.telemetry.power_tenth_watts = Field<std::int32_t>::known(2'000'000'000);
  answer.telemetry.processes = Field<std::vector<ProcessUse>>::known({{-1, 5}, {42, 512}, {43, ~0ULL}});
  const auto back = decode_answer(encode(answer));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->driver_version, "25?[2J");
  const NpuIdentity& identity = back->identity;
  EXPECT_FALSE(identity.phy_id.valid);
  EXPECT_EQ(identity.phy_id.code, kCodeImplausible);
  EXPECT_FALSE(identity.chip_name.valid || identity.chip_version.valid || identity.aicore_count.valid);
  EXPECT_EQ(identity.chip_name.value, "");
  const NpuTelemetry& telemetry = back->telemetry;
  EXPECT_FALSE(telemetry.health.valid || telemetry.memory_total_bytes.valid ||
               telemetry.memory_used_bytes.valid || telemetry.aicore_percent.valid ||
               telemetry.temperature_celsius.valid || telemetry.power_tenth_watts.valid);
  ASSERT_EQ(telemetry.processes.value.size(), 1U);
  EXPECT_EQ(telemetry.processes.value[0].pid, 42);
}

// Without it the daemon would believe of a slice, or of the news of an NPU, what it does not believe of the
// NPU.
TEST(HelperProtocol, WhatCannotBeIsNotBelievedOfSlicesAndEvents) {
  HelperAnswer answer = full_answer();
  answer.identity.mcu_version = Field<std::string>::known("1\x1b[2J");
  VnpuReading& spoilt = answer.slicing.vnpus.value[0];
  spoilt.template_name = Field<std::string>::known("vir04\n");
  spoilt.vgroup_id = Field<std::uint32_t>::known(64);
  spoilt.resources.ai_cores_milli = Field<std::uint32_t>::known(~0U);
  spoilt.resources.memory_bytes = Field<std::uint64_t>::known(1ULL << 63);
  spoilt.memory_usable_bytes = Field<std::uint64_t>::known(0);
  spoilt.memory_used_bytes = Field<std::uint64_t>::known(~0ULL);
  spoilt.aicore_percent = Field<std::uint32_t>::known(101);
  answer.slicing.free.ai_cpus = Field<std::uint32_t>::known(5'000);
  answer.events.value = {{1, 4, 9, 1, 1, "HBM"}, {2, 4, 2, 7, 1, "HBM"}, {3, 4, 2, 1, 1, "HB\x1bM"}};
  const auto back = decode_answer(encode(answer));
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->identity.mcu_version.valid);
  ASSERT_EQ(back->slicing.vnpus.value.size(), 1U);
  const VnpuReading& vnpu = back->slicing.vnpus.value[0];
  EXPECT_EQ(vnpu.id, 103U) << "a slice stays, whatever it says of itself";
  EXPECT_FALSE(vnpu.template_name.valid || vnpu.vgroup_id.valid || vnpu.resources.ai_cores_milli.valid ||
               vnpu.resources.memory_bytes.valid || vnpu.memory_usable_bytes.valid ||
               vnpu.memory_used_bytes.valid || vnpu.aicore_percent.valid);
  EXPECT_EQ(vnpu.template_name.code, kCodeImplausible);
  EXPECT_TRUE(vnpu.container_used.value);
  EXPECT_FALSE(back->slicing.free.ai_cpus.valid);
  ASSERT_EQ(back->events.value.size(), 1U);
  EXPECT_EQ(back->events.value[0].name, "HB?M");
}

// Without it what is no slice's id would be booked, or returned, as one.
TEST(HelperProtocol, AListWithWhatIsNoSliceIsUnknown) {
  HelperAnswer answer = full_answer();
  answer.slicing.vnpus.value[0].id = 99;
  const auto back = decode_answer(encode(answer));
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->slicing.vnpus.valid);
  EXPECT_EQ(back->slicing.vnpus.code, kCodeImplausible);
}

}  // namespace
}  // namespace tangram::device

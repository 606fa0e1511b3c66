// The product's way to an NPU, against the simulated machine, which it must not be able to tell from a real
// one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "ascendsim_dcmi/simulated_machine.h"
#include "device/dcmi_devices.h"

namespace tangram::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::unique_ptr<Devices> open(const SimulatedMachine& machine) {
  device::DcmiOptions options;
  options.helper_path = HELPER_PATH;
  options.library_path = machine.library();
  return device::make_dcmi_devices(options);
}

// Without it the daemon might read a simulated machine wrongly, and every later test would stand on that.
TEST(DeviceEndToEnd, ReadsTheDefaultMachine) {
  const SimulatedMachine machine;
  Child holder({HOLDER, machine.socket(), "2", "1024"});
  ASSERT_EQ(holder.read_line(), "ready");
  const auto devices = open(machine);
  const auto scan = devices->scan();
  ASSERT_TRUE(scan) << scan.error().to_string();
  EXPECT_EQ(scan->driver_version, "25.5.0");
  ASSERT_THAT(scan->npus, SizeIs(8));
  for (std::uint32_t i = 0; i < 8; ++i) {
    const DeviceNpu& npu = scan->npus[i];
    EXPECT_EQ(npu.physical_id, i);
    EXPECT_EQ(npu.chip, "910B4");
    EXPECT_EQ(npu.health, Health::kOk) << npu.health_note;
    EXPECT_EQ(npu.ai_cores.value, 20);
    EXPECT_EQ(npu.memory_total.value, Bytes::gib(32));
    EXPECT_EQ(npu.memory_used.value, Bytes::gib(i == 2 ? 4 : 3));
    EXPECT_TRUE(npu.ai_core_percent.valid);
    EXPECT_TRUE(npu.temperature_celsius.valid);
    EXPECT_GT(npu.power_milliwatt.value, 0);
    EXPECT_THAT(npu.processes.value, SizeIs(i == 2 ? 1 : 0));
  }
  EXPECT_EQ(scan->npus[2].processes.value[0].pid, holder.pid());
  EXPECT_EQ(scan->npus[2].processes.value[0].memory, Bytes::gib(1));
}

// Without it machines of inference cards would be unreadable: DDR instead of HBM, power from the board.
TEST(DeviceEndToEnd, ReadsAMachineOf310P) {
  const SimulatedMachine machine(k310PMachine);
  const auto devices = open(machine);
  const auto scan = devices->scan();
  ASSERT_TRUE(scan) << scan.error().to_string();
  ASSERT_THAT(scan->npus, SizeIs(3));
  EXPECT_EQ(scan->npus[2].physical_id, 6U);
  EXPECT_EQ(scan->npus[2].card_id, 7);
  EXPECT_EQ(scan->npus[2].chip_id, 1);
  EXPECT_EQ(scan->npus[2].chip, "310P3");
  EXPECT_EQ(scan->npus[2].memory_total.value, Bytes::mib(21527));
  EXPECT_EQ(scan->npus[2].memory_used.value, Bytes::mib(1805));
  EXPECT_GT(scan->npus[2].power_milliwatt.value, 0);
}

// Without it jobs would go on being placed on an NPU that fell off the bus.
TEST(DeviceEndToEnd, FaultsAreSeenAndPass) {
  const SimulatedMachine machine;
  const auto devices = open(machine);
  ASSERT_TRUE(devices->scan());
  ASSERT_EQ(machine.control({"remove", "4"}).exit_code, 0);
  ASSERT_EQ(machine.control({"health", "6", "alarm"}).exit_code, 0);
  auto scan = devices->scan();
  ASSERT_TRUE(scan);
  ASSERT_THAT(scan->npus, SizeIs(8));
  EXPECT_EQ(scan->npus[4].health, Health::kAbsent);
  EXPECT_EQ(scan->npus[4].memory_total.value, Bytes::gib(32));
  EXPECT_EQ(scan->npus[6].health, Health::kAlarm);
  EXPECT_THAT(scan->npus[6].health_note, HasSubstr("error code 80E01801"));
  EXPECT_EQ(scan->npus[5].health, Health::kOk);
  ASSERT_EQ(machine.control({"return", "4"}).exit_code, 0);
  ASSERT_EQ(machine.control({"health", "6", "ok"}).exit_code, 0);
  scan = devices->scan();
  ASSERT_TRUE(scan);
  for (const DeviceNpu& npu : scan->npus) EXPECT_EQ(npu.health, Health::kOk);
}

// Without it a driver that was restarted would need a restart of the daemon.
TEST(DeviceEndToEnd, RestartedDriverIsPickedUp) {
  SimulatedMachine machine;
  const auto devices = open(machine);
  ASSERT_TRUE(devices->scan());
  machine.kill_now();
  const auto gone = devices->scan();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason, "device.driver.away");
  machine.start();
  const auto back = devices->scan();
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_THAT(back->npus, SizeIs(8));

  // And when it happens between two looks.
  machine.kill_now();
  machine.start();
  const auto unnoticed = devices->scan();
  ASSERT_TRUE(unnoticed) << unnoticed.error().to_string();
  for (const DeviceNpu& npu : unnoticed->npus) EXPECT_EQ(npu.health, Health::kOk);
}

}  // namespace
}  // namespace tangram::test

// npu-smi as installed with a live ascendsimd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ascendsim_dcmi/simulated_machine.h"

namespace tangram::test {
namespace {

using testing::HasSubstr;

// Without it the tool could show a job's memory under another NPU or pid and nobody would notice.
TEST(NpuSmiLive, ShowsAProcessThatHoldsMemory) {
  const SimulatedMachine machine;
  Child holder({HOLDER, machine.socket(), "3", "2048"});
  ASSERT_EQ(holder.read_line(), "ready");
  const Ran info = machine.npu_smi({"info"});
  EXPECT_EQ(info.exit_code, 0);
  const std::string pid = std::to_string(holder.pid());
  EXPECT_THAT(info.output,
              HasSubstr("| 3       0                 | " + pid + std::string(14 - pid.size(), ' ') +
                        "| ascendsim_holde          | 2048                     |\n"));
  EXPECT_THAT(
      info.output,
      HasSubstr(
          "| 0                         | 0000:82:00.0  | 0           0    / 0          5120  / 32768 "));
  EXPECT_THAT(info.output, HasSubstr("No running processes found in NPU 0"));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "proc-mem", "-i", "3", "-c", "0"}).output,
              HasSubstr("Process id:" + pid));
}

// Without it scripts that tell a machine without a driver from an empty one would break.
TEST(NpuSmiLive, SaysThatTheDriverIsAway) {
  SimulatedMachine machine;
  machine.kill_now();
  const Ran info = machine.npu_smi({"info"});
  EXPECT_THAT(info.output, HasSubstr("dcmi module initialize failed. ret is -8005\n"));
  EXPECT_EQ(info.exit_code, -9005 & 0xFF);
}

// Without it an NPU that hangs would keep an operator from cutting and looking at all others.
TEST(NpuSmiLive, AsksNothingOfOtherCardsThanTheOneThatIsNamed) {
  const SimulatedMachine machine;
  machine.control({"hang", "5"});
  EXPECT_THAT(machine.npu_smi({"info", "-t", "usages", "-i", "6"}).output, HasSubstr("NPU ID"));
  EXPECT_THAT(machine.npu_smi({"set", "-t", "create-vnpu", "-i", "6", "-c", "0", "-f", "vir05_1c_8g"}).output,
              HasSubstr("OK"));
  machine.control({"slow", "5", "0"});
  EXPECT_THAT(machine.npu_smi({"info"}).output, HasSubstr("| 5 "));
}

// Without it a wrong card would be answered with another one's data, or with silence.
TEST(NpuSmiLive, RefusesWhatDoesNotExist) {
  const SimulatedMachine machine;
  const Ran card = machine.npu_smi({"info", "-t", "board", "-i", "42"});
  EXPECT_THAT(card.output, HasSubstr("Error parameter of -i"));
  EXPECT_EQ(card.exit_code, -9001 & 0xFF);
  const Ran chip = machine.npu_smi({"info", "-t", "usages", "-i", "0", "-c", "7"});
  EXPECT_THAT(chip.output, HasSubstr("Error parameter of -c"));
  const Ran type = machine.npu_smi({"info", "-t", "nonsense", "-i", "0"});
  EXPECT_EQ(type.output, "This device does not support querying nonsense.\n");
  EXPECT_EQ(type.exit_code, -9255 & 0xFF);
  const Ran command = machine.npu_smi({"frobnicate"});
  EXPECT_EQ(command.output, "Command or option is not found.\n");
  EXPECT_EQ(command.exit_code, -9001 & 0xFF);
}

// Without it the way from a device node back to its card would be untested on a machine where the numbers
// differ.
TEST(NpuSmiLive, MapsAPhysicalIdToItsCard) {
  const SimulatedMachine machine(k310PMachine);
  EXPECT_EQ(machine.npu_smi({"info", "-t", "phyid-remap", "-p", "6"}).output,
            "\tNPU ID                         : 7\n\tChip ID                        : 1\n");
  EXPECT_THAT(machine.npu_smi({"info", "-t", "phyid-remap", "-p", "4"}).output,
              HasSubstr("Error parameter of -p"));
}

}  // namespace
}  // namespace tangram::test

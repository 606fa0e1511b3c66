// Queries and settings of npu-smi beside those of virtual devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ascendsim_dcmi/simulated_machine.h"

namespace tangram::test {
namespace {

using testing::HasSubstr;

std::string description_of(const char* name) {
  std::ostringstream text;
  text << std::ifstream(std::string(MACHINES) + "/" + name).rdbuf();
  return text.str();
}

// The tool with an answer on its standard input.
Ran npu_smi_told(const SimulatedMachine& machine, const std::string& answer, const std::string& arguments) {
  const std::string tool = machine.root() + "/driver/tools/npu-smi";
  return run({"/bin/sh", "-c", "printf '" + answer + "' | " + tool + " " + arguments});
}

// Without it a reader of the 310P's lines would be tried against those of the 910B.
TEST(NpuSmiQueries, UsagesOfA310PNameTheMediaEngines) {
  const SimulatedMachine machine(description_of("one-310p3.yaml"));
  EXPECT_EQ(machine.npu_smi({"info", "-t", "usages", "-i", "7", "-c", "0"}).output,
            "\tNPU ID                         : 7\n"
            "\tChip ID                        : 0\n"
            "\tDDR Capacity(MB)               : 21527\n"
            "\tDDR Usage Rate(%)              : 8\n"
            "\tDDR Hugepages Total(page)      : 0\n"
            "\tDDR Hugepages Usage Rate(%)    : 0\n"
            "\tAicore Usage Rate(%)           : 0\n"
            "\tAicpu Usage Rate(%)            : 0\n"
            "\tCtrlcpu Usage Rate(%)          : 0\n"
            "\tVectorcore Usage Rate(%)       : 0\n"
            "\tDDR Bandwidth Usage Rate(%)    : 0\n"
            "\tDVPP VDEC Usage Rate(%)        : 0\n"
            "\tDVPP VPC Usage Rate(%)         : 0\n"
            "\tDVPP VENC Usage Rate(%)        : 0\n"
            "\tDVPP JPEGE Usage Rate(%)       : 0\n"
            "\tDVPP JPEGD Usage Rate(%)       : 0\n");
}

// Without it one of the queries that operators use would be refused, or answer nothing.
TEST(NpuSmiQueries, AllThatOperatorsUseAnswer) {
  const SimulatedMachine machine(description_of("mixed.yaml"));
  EXPECT_THAT(machine.npu_smi({"info", "-l"}).output, HasSubstr("Count                    : 6"));
  EXPECT_THAT(machine.npu_smi({"info", "-m"}).output, HasSubstr("Ascend 910B4-1"));
  for (const char* type : {"board", "usages", "memory", "proc", "proc-mem", "common", "health", "topo"}) {
    for (const char* card : {"1", "8", "11"}) {
      const Ran ran = machine.npu_smi({"info", "-t", type, "-i", card, "-c", "0"});
      EXPECT_EQ(ran.exit_code, 0) << type;
      EXPECT_GT(ran.output.size(), 20U) << type;
    }
  }
}

// Without it a health check by the tool would miss a fault, or all but the first.
TEST(NpuSmiQueries, HealthListsEveryFault) {
  const SimulatedMachine machine;
  ASSERT_EQ(machine.control({"fault", "4", "80E01801"}).exit_code, 0);
  ASSERT_EQ(machine.control({"fault", "4", "81AD8605"}).exit_code, 0);
  const std::string health = machine.npu_smi({"info", "-t", "health", "-i", "4", "-c", "0"}).output;
  EXPECT_THAT(health, HasSubstr("Health Status                  : Alarm\n"));
  EXPECT_THAT(health, HasSubstr("Error Code                     : 80E01801 81AD8605\n"));
  EXPECT_THAT(health, HasSubstr("\t                               : node type=SoC"));
}

// Without it a script without a terminal would switch what a person has to agree to.
TEST(NpuSmiQueries, QuestionsNeedAYes) {
  const SimulatedMachine machine;
  EXPECT_THAT(npu_smi_told(machine, "", "set -t device-share -i 0 -c 0 -d 1").output,
              HasSubstr("User aborts"));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "device-share", "-i", "0", "-c", "0"}).output,
              HasSubstr(": False"));
  EXPECT_THAT(npu_smi_told(machine, "Y\\n", "set -t device-share -i 0 -c 0 -d 1").output,
              HasSubstr("is set successfully."));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "device-share", "-i", "0", "-c", "0"}).output,
              HasSubstr(": True"));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "multi-die-policy"}).output, HasSubstr(": Union"));
  EXPECT_THAT(npu_smi_told(machine, "y\\n", "set -t multi-die-policy -d 1").output,
              HasSubstr("successfully"));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "multi-die-policy"}).output, HasSubstr(": Independent"));
  EXPECT_THAT(npu_smi_told(machine, "n\\n", "set -t reset -i 3 -c 0").output, HasSubstr("User aborts"));
  EXPECT_THAT(npu_smi_told(machine, "Y\\n", "set -t reset -i 3 -c 0").output,
              HasSubstr("Reset chip successfully"));
}

}  // namespace
}  // namespace tangram::test

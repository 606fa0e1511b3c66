// npu-smi's part in virtual devices: the tables, and the commands as operators write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ascendsim/npu_smi/vnpu.h"
#include "ascendsim_dcmi/simulated_machine.h"

namespace tangram::test {
namespace {

using ascendsim::vnpu_board;
using ascendsim::VnpuBoard;
using ascendsim::npu_smi::Family;
using ascendsim::npu_smi::format_templates;
using ascendsim::npu_smi::format_vnpus;
using ascendsim::npu_smi::vnpu_style;
using ascendsim::npu_smi::VnpuChip;
using testing::HasSubstr;
using testing::Not;

std::string one_310p3() {
  std::ostringstream text;
  text << std::ifstream(std::string(MACHINES) + "/one-310p3.yaml").rdbuf();
  std::string description = text.str();
  description.replace(description.find("create_ms: 300"), 14, "create_ms: 0");
  return description;
}

VnpuChip two_slices() {
  VnpuChip chip;
  chip.ai_cores = {10, 20};
  chip.memory_mb = {30720, 61440};
  chip.ai_cpus = {5, 7};
  chip.vpc = {5, 9};
  chip.venc = {0, 0};
  chip.vdec = {2, 2};
  chip.jpegd = {12, 24};
  chip.jpege = {2, 4};
  chip.rows = {{164, 0, 0xffffffffffff, 0, "vir05_1c_16g"}, {165, 1, 0, 1, "vir05_1c_16g"}};
  return chip;
}

// Without it programs that read the table of virtual devices would be tried against another table.
TEST(NpuSmiVnpu, TableOfVirtualDevices) {
  EXPECT_EQ(format_vnpus(two_slices(), Family::k910B, vnpu_style("25.5.0")),
            R"(+-------------------------------------------------------------------------------+
| NPU resource static info as follow:                                           |
| Format:Free/Total                   NA: Currently, query is not supported.    |
| AICORE    Memory    AICPU    VPC    VENC    VDEC    JPEGD    JPEGE    PNGD    |
|            GB                                                                 |
|===============================================================================|
| 10/20     30/64     5/7      5/9    0/0     2/2     12/24    2/4      NA/NA   |
+-------------------------------------------------------------------------------+
| Total number of vnpu: 2                                                       |
+-------------------------------------------------------------------------------+
|  Vnpu ID  |  Vgroup ID     |  Container ID  |  Status  |  Template Name       |
+-------------------------------------------------------------------------------+
|  164      |  0             |  ffffffffffff  |  0       |  vir05_1c_16g        |
+-------------------------------------------------------------------------------+
|  165      |  1             |  000000000000  |  1       |  vir05_1c_16g        |
+-------------------------------------------------------------------------------+
)");
}

// Without it the old tool's form, without rules between rows, would never be read in a test.
TEST(NpuSmiVnpu, OldToolsDrawNoRulesBetweenRows) {
  const std::string table = format_vnpus(two_slices(), Family::k910B, vnpu_style("22.0.4"));
  EXPECT_THAT(table,
              HasSubstr("|  164      |  0             |  ffffffffffff  |  0       |  vir05_1c_16g        |\n"
                        "|  165      |"));
}

// Without it a template's two lines would be read as two templates, or as none.
TEST(NpuSmiVnpu, TableOfTemplates) {
  const VnpuBoard board = vnpu_board("910B3", 0x32, 20, 6, 65536);
  EXPECT_EQ(format_templates(board, vnpu_style("25.5.0")),
            R"(+------------------------------------------------------------------------------------------+
|NPU instance template info is:                                                            |
|Name                AICORE    Memory    AICPU     VPC            VENC           JPEGD     |
|                               GB                 PNGD           VDEC           JPEGE     |
|==========================================================================================|
|vir10_3c_32g        10        32        3         4              0              12        |
|                                                  0              1              2         |
+------------------------------------------------------------------------------------------+
|vir05_1c_16g        5         16        1         2              0              6         |
|                                                  0              0              1         |
+------------------------------------------------------------------------------------------+
)");
  const std::string old = format_templates(vnpu_board("910A", 1, 30, 14, 32768), vnpu_style("22.0.4"));
  EXPECT_THAT(old, HasSubstr("+====="));
  EXPECT_THAT(old, HasSubstr("    1.5            1              0         |"));
}

// Without it what an operator types to clear a leftover would not work on the simulated machine.
TEST(NpuSmiVnpu, CreateSeeAndDestroyAsOperatorsDo) {
  const SimulatedMachine machine(one_310p3());
  const Ran created = machine.npu_smi({"set", "-t", "create-vnpu", "-i", "7", "-c", "0", "-f", "vir04"});
  EXPECT_EQ(
      created.output,
      "\tStatus                         : OK\n\tMessage                        : Create vnpu success\n");
  EXPECT_EQ(created.exit_code, 0);
  EXPECT_EQ(machine.npu_smi({"set", "-t", "create-vnpu", "-f", "vir01", "-v", "103"}).exit_code, 0);
  const Ran shown = machine.npu_smi({"info", "-t", "info-vnpu"});
  EXPECT_THAT(shown.output,
              HasSubstr("| 3/8       7/21      2/7      5/12   1/3     5/12    6/16     3/8      NA/NA"));
  EXPECT_THAT(shown.output, HasSubstr("|  103      |  1             |  000000000000  |  0       |  vir01 "));
  EXPECT_EQ(machine.npu_smi({"info", "-t", "info-vnpu", "-i", "7", "-c", "0"}).output, shown.output);
  const Ran destroyed = machine.npu_smi({"set", "-t", "destroy-vnpu", "-i", "7", "-c", "0", "-v", "103"});
  EXPECT_THAT(destroyed.output, HasSubstr("Message                        : Destroy vnpu 103 success\n"));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "info-vnpu"}).output, HasSubstr("Total number of vnpu: 1 "));
  EXPECT_THAT(machine.npu_smi({"set", "-t", "destroy-vnpu", "-v", "103"}).output,
              HasSubstr("Error parameter of -v."));
}

// Without it the reasons that only this tool gives, because the library gives none, would be missing.
TEST(NpuSmiVnpu, SaysWhatIsMissing) {
  const SimulatedMachine machine(one_310p3());
  const auto create = [&machine](const char* name) {
    return machine.npu_smi({"set", "-t", "create-vnpu", "-f", name}).output;
  };
  EXPECT_THAT(create("vir04"), HasSubstr("Create vnpu success"));
  EXPECT_THAT(create("vir04"),
              HasSubstr("Insufficient number of AICPU available, unallocated AICPU number:3."));
  EXPECT_THAT(create("vir04_4c_dvpp"), HasSubstr("Insufficient number of AICPU"));
  EXPECT_THAT(create("vir04_3c"), HasSubstr("Create vnpu success"));
  EXPECT_THAT(create("vir01"),
              HasSubstr("Insufficient number of cores available, unallocated cores number:0.000000."));
  EXPECT_THAT(create("vir08"), HasSubstr("create vnpu failed.")) << "of another chip";
  EXPECT_THAT(create("vir99"), HasSubstr("Error parameter of -f"));
  EXPECT_THAT(machine.npu_smi({"set", "-t", "create-vnpu"}).output, HasSubstr("Must input parameter of -f."));
  const SimulatedMachine other(one_310p3());
  ASSERT_EQ(other.npu_smi({"set", "-t", "create-vnpu", "-f", "vir04_4c_dvpp"}).exit_code, 0);
  EXPECT_THAT(other.npu_smi({"set", "-t", "create-vnpu", "-f", "vir01"}).output,
              HasSubstr("unallocated DVPP number:VPC:0.000000, VENC:0.000000, VDEC:0.000000"));
}

// Without it scripts that switch the modes, or ask for them, could not be rehearsed.
TEST(NpuSmiVnpu, Modes) {
  const SimulatedMachine machine(one_310p3());
  EXPECT_EQ(machine.npu_smi({"info", "-t", "vnpu-mode"}).output,
            "\tvnpu-mode                      : docker\n");
  EXPECT_EQ(machine.npu_smi({"info", "-t", "vnpu-cfg-recover"}).output,
            "\tVNPU config recover mode       : Enable\n");
  EXPECT_THAT(machine.npu_smi({"set", "-t", "vnpu-cfg-recover", "-d", "0"}).output,
              HasSubstr("The VNPU config recover mode Disable is set successfully."));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "vnpu-cfg-recover"}).output, HasSubstr("Disable"));
  EXPECT_THAT(machine.npu_smi({"set", "-t", "vnpu-mode", "-d", "1"}).output,
              HasSubstr("Set vnpu vm mode success"));
  const Ran refused = machine.npu_smi({"set", "-t", "create-vnpu", "-f", "vir01"});
  EXPECT_EQ(refused.output, "The vnpu is not in docker mode, does not support setting create-vnpu.\n");
  EXPECT_EQ(refused.exit_code, 0) << "the real tool's trap";
  EXPECT_THAT(machine.npu_smi({"set", "-t", "vnpu-mode", "-d", "0"}).output,
              HasSubstr("docker mode success"));
  ASSERT_EQ(machine.npu_smi({"set", "-t", "create-vnpu", "-f", "vir01"}).exit_code, 0);
  EXPECT_THAT(machine.npu_smi({"set", "-t", "vnpu-mode", "-d", "1"}).output,
              HasSubstr("The vNPU(s) in another mode already exist."));
  EXPECT_THAT(machine.npu_smi({"set", "-t", "vnpu-mode", "-d", "7"}).output,
              HasSubstr("Error parameter of -d"));
}

// Without it the tool inside a slice would show the whole NPU, or other memory than the slice's.
TEST(NpuSmiVnpu, InsideASliceItShowsTheSlice) {
  const SimulatedMachine machine(one_310p3());
  std::filesystem::permissions(machine.root(), std::filesystem::perms(0755));
  ASSERT_EQ(machine.npu_smi({"set", "-t", "create-vnpu", "-f", "vir04"}).exit_code, 0);
  std::ifstream file(machine.root() + "/driver/run/device-major");
  std::string major;
  ASSERT_TRUE(file >> major) << "no device nodes";
  const std::string tool = machine.root() + "/driver/tools/npu-smi";
  // As a container runtime: a /dev with the slice's node alone, and no rights of the host's root.
  const Ran inside =
      run({"/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c",
           "mount -t tmpfs -o mode=755 tmpfs /dev && mknod -m 666 /dev/null c 1 3 && mknod -m "
           "666 /dev/davinci100 c " +
               major + " 100 && exec setpriv --reuid 1000 --clear-groups /bin/sh -c '" + HOLDER + " " +
               machine.socket() + " 0 6144 & for i in $(seq 200); do " + tool +
               " info -t proc-mem -i 7 -c 0 | grep -q 6144 && break; sleep 0.1; done; " + tool + " info; " +
               tool + " info -t usages -i 7 -c 0; " + tool + " info -t proc-mem -i 7 -c 0; " + tool +
               " set -t create-vnpu -i 7 -c 0 -f vir01; kill $!'"});
  EXPECT_THAT(inside.output, HasSubstr("| 7       310Pvir04             | OK "));
  EXPECT_THAT(inside.output, HasSubstr("7046 / 10763 ")) << "902 of the device's system";
  EXPECT_THAT(inside.output, Not(HasSubstr("No running processes"))) << "no table of processes in a slice";
  EXPECT_THAT(inside.output, HasSubstr("DDR Capacity(MB)               : 10763"));
  EXPECT_THAT(inside.output, HasSubstr("Process memory(MB):6144"));
  EXPECT_THAT(inside.output, HasSubstr("does not support setting create-vnpu"));
  const std::string outside = machine.npu_smi({"info"}).output;
  EXPECT_THAT(outside, HasSubstr("| 7       310P3  "));
  EXPECT_THAT(outside, HasSubstr("1805 / 21527")) << "this driver's figure stands still";
}

// Without it a cut chip's load would be shown as a number that nobody measured.
TEST(NpuSmiVnpu, LinesWithoutAValueAreLeftOut) {
  const SimulatedMachine machine;
  EXPECT_THAT(machine.npu_smi({"info", "-t", "usages", "-i", "2", "-c", "0"}).output,
              HasSubstr("Aicore Usage"));
  ASSERT_EQ(
      machine.npu_smi({"set", "-t", "create-vnpu", "-i", "2", "-c", "0", "-f", "vir05_1c_8g"}).exit_code, 0);
  const Ran usages = machine.npu_smi({"info", "-t", "usages", "-i", "2", "-c", "0"});
  EXPECT_THAT(usages.output, Not(HasSubstr("Aicore Usage")));
  EXPECT_THAT(usages.output, HasSubstr("HBM Usage Rate(%)"));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "info-vnpu", "-i", "2", "-c", "0"}).output,
              HasSubstr("| 15/20     21/32     6/7      7/9    0/0     2/2     18/24    3/4      NA/NA   |"));
  EXPECT_THAT(machine.npu_smi({"info", "-t", "info-vnpu", "-i", "1", "-c", "0"}).output,
              HasSubstr("| 20/20     28/32     6/6      9/9    0/0     2/2     24/24    4/4      NA/NA   |"));
  EXPECT_THAT(machine.npu_smi({"set", "-t", "create-vnpu", "-f", "vir05_1c_8g"}).output,
              HasSubstr("Must input parameter of -i."));
}

}  // namespace
}  // namespace tangram::test

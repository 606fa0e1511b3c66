// Golden texts: programs in the field parse what npu-smi prints, so a blank in another place is a defect.
#include "ascendsim/npu_smi/format.h"

#include <gtest/gtest.h>

namespace ascendsim::npu_smi {
namespace {

Chip chip_910b4() {
  Chip chip;
  chip.logic_id = 0;
  chip.phy_id = 0;
  chip.type = "Ascend";
  chip.name = "910B4";
  chip.version = "V1";
  chip.aicore_count = 20;
  chip.health = 0;
  chip.pcie = Pcie{0x19E5, 0xD802, 0x19E5, 0x0100, 0, 0xC1, 0, 0};
  chip.board = Board{0x33, 1, 1, 0};
  chip.vdie = "5A0B1C20 20E0C2B1 62D48A50 018210D4 A2050020";
  chip.ndie = "DA0B1C20 20E0C2B1 62D48A50 018210D4 A2050020";
  chip.hbm = Memory{32768, 26838, 1600, 31, 0, 0};
  chip.percent = {{1, 0}, {2, 57}, {3, 0}, {4, 1}, {5, 0}, {6, 81}, {10, 12}, {12, 3}, {13, 57}, {14, 57}};
  chip.celsius = 30;
  chip.deciwatts = 882;
  chip.centivolts = 85;
  chip.aicore_mhz_max = 1500;
  chip.aicore_mhz = 1500;
  chip.processes = std::vector<Process>{};
  return chip;
}

void run_on(Chip& chip, Process process) {
  std::vector<Process> all = chip.processes.value_or(std::vector<Process>{});
  all.push_back(std::move(process));
  chip.processes = std::move(all);
}

Chip chip_310p3(int device, int logic) {
  Chip chip;
  chip.family = Family::k310P;
  chip.device = device;
  chip.logic_id = logic;
  chip.type = "Ascend";
  chip.name = "310P3";
  chip.health = 0;
  chip.pcie = Pcie{0x19E5, 0xD500, 0x19E5, 0x0100, 0, static_cast<unsigned int>(7 + device), 0, 0};
  chip.ddr = Memory{21527, 1805, 3200, 0, 0, 0};
  chip.percent = {{2, 0}};
  chip.celsius = 28;
  chip.processes = std::vector<Process>{};
  return chip;
}

Snapshot of(std::vector<Card> cards, const std::string& version) {
  Snapshot snapshot;
  snapshot.version = version;
  snapshot.cards = std::move(cards);
  return snapshot;
}

Card card_of(int id, std::vector<Chip> chips) {
  Card card;
  card.id = id;
  card.mcu_device = static_cast<int>(chips.size());
  card.chips = std::move(chips);
  return card;
}

// Without it the table of a training server would drift from the real one.
TEST(NpuSmiFormat, InfoOf910B) {
  Chip busy = chip_910b4();
  run_on(busy, {26319, "mindie_llm_back", 23941ULL << 20U});
  run_on(busy, {7, std::nullopt, 1ULL << 20U});
  Chip dropped = chip_910b4();
  dropped.health.reset();
  dropped.celsius.reset();
  dropped.deciwatts.reset();
  dropped.hbm.reset();
  dropped.percent.clear();
  dropped.processes.reset();
  EXPECT_EQ(
      format_info(of({card_of(0, {busy}), card_of(3, {dropped})}, "24.1.0")),
      R"(+-------------------------------------------------------------------------------------------------+
| npu-smi 24.1.0                   Version: 24.1.0                                                |
+---------------------------+---------------+-----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)         |
+===========================+===============+=====================================================+
| 0     910B4               | OK            | 88.2        30                0     / 0             |
| 0                         | 0000:C1:00.0  | 57          0    / 0          26838 / 32768         |
+===========================+===============+=====================================================+
| 3     910B4               | UNKNOWN       | NA          NA                0     / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          0     / 0             |
+===========================+===============+=====================================================+
+---------------------------+---------------+-----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)       |
+===========================+===============+=====================================================+
| 0       0                 | 26319         | mindie_llm_back          | 23941                    |
| 0       0                 | 7             |                          | 1                        |
+===========================+===============+=====================================================+
| No running processes found in NPU 3                                                             |
+===========================+===============+=====================================================+
)");
}

// Without it the table of an inference card would drift: other widths, power on the board, two chips on one
// card.
TEST(NpuSmiFormat, InfoOf310P) {
  EXPECT_EQ(
      format_info(of({card_of(7, {chip_310p3(0, 0), chip_310p3(1, 1)})}, "22.0.4")),
      R"(+--------------------------------------------------------------------------------------------------------+
| npu-smi 22.0.4                                   Version: 22.0.4                                       |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 7       310P3                 | OK              | NA           28                0     / 0             |
| 0       0                     | 0000:07:00.0    | 0            1805 / 21527                            |
+-------------------------------+-----------------+------------------------------------------------------+
| 7       310P3                 | OK              | NA           28                0     / 0             |
| 1       1                     | 0000:08:00.0    | 0            1805 / 21527                            |
+===============================+=================+======================================================+
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Chip                  | Process id      | Process name             | Process memory(MB)        |
+===============================+=================+======================================================+
| No running processes found in NPU 7                                                                    |
+===============================+=================+======================================================+
)");
}

// Without it a process with a long name would push the columns apart.
TEST(NpuSmiFormat, EveryLineOfInfoHasOneWidth) {
  Chip chip = chip_910b4();
  run_on(chip, {2147483647, std::string(200, 'n'), 1ULL << 44U});
  const std::string text = format_info(of({card_of(63, {chip})}, "24.1.0"));
  const std::size_t width = text.find('\n');
  for (std::size_t start = 0; start < text.size(); start += width + 1) {
    EXPECT_EQ(text.find('\n', start), start + width) << text.substr(start, width + 10);
  }
}

// Without it scripts that count cards would count something else.
TEST(NpuSmiFormat, ListAndMap) {
  const Snapshot server = of({card_of(0, {chip_910b4()})}, "24.1.0");
  EXPECT_EQ(format_list(server),
            "\tTotal Count                    : 1\n\n"
            "\tNPU ID                         : 0\n"
            "\tChip Count                     : 1\n\n");
  Card card = card_of(7, {chip_310p3(0, 0), chip_310p3(1, 1)});
  card.label = Label{"Atlas 300I Pro", "310P3", "Huawei", "1024AB"};
  const Snapshot cards = of({card}, "22.0.4");
  EXPECT_EQ(format_list(cards),
            "\tCard Count                     : 1\n\n"
            "\tNPU ID                         : 7\n"
            "\tProduct Name                   : Atlas 300I Pro\n"
            "\tSerial Number                  : 1024AB\n"
            "\tChip Count                     : 2\n\n");
  EXPECT_EQ(format_map(cards),
            "\tNPU ID                         Chip ID                        Chip Logic ID                  "
            "Chip Name                     \n"
            "\t7                              0                              0                              "
            "Ascend 310P3                  \n"
            "\t7                              1                              1                              "
            "Ascend 310P3                  \n"
            "\t7                              2                              -                              "
            "Mcu                           \n");
}

// Without it a rate that the driver does not give would be printed as 0 on a split chip.
TEST(NpuSmiFormat, UsagesLeaveOutWhatIsNotKnown) {
  Chip chip = chip_910b4();
  const std::string whole = format_usages(card_of(0, {chip}), &chip);
  EXPECT_NE(whole.find("\tHBM Usage Rate(%)              : 81\n"), std::string::npos) << whole;
  EXPECT_NE(whole.find("\tAicore Usage Rate(%)           : 57\n"), std::string::npos) << whole;
  chip.percent.erase(2);
  EXPECT_EQ(format_usages(card_of(0, {chip}), &chip).find("Aicore Usage"), std::string::npos);
}

// Without it the list of processes would not be the one that parsers know.
TEST(NpuSmiFormat, ProcessMemory) {
  Chip chip = chip_910b4();
  EXPECT_EQ(format_processes(card_of(0, {chip}), &chip), "\tNo process in device.\n");
  run_on(chip, {26319, "mindie_llm_back", 23941ULL << 20U});
  EXPECT_EQ(format_processes(card_of(0, {chip}), &chip),
            "\tProcess id:26319   Process name:mindie_llm_back   Process memory(MB):23941\n");
  chip.processes = std::vector<Process>{{26319, std::nullopt, 0}};
  EXPECT_EQ(format_processes(card_of(0, {chip}), &chip).substr(0, 23), "\tGet pid name failed.\n\t");
}

// Without it error codes and their texts would not be found by tools that watch health.
TEST(NpuSmiFormat, HealthWithErrorCodes) {
  Chip chip = chip_910b4();
  chip.health = 2;
  chip.faults = {{0x80E01801U, "first"}, {0x81078603U, "second"}};
  EXPECT_EQ(format_health(card_of(4, {chip}), &chip),
            "\tNPU ID                         : 4\n"
            "\tChip ID                        : 0\n"
            "\tHealth Status                  : Alarm\n"
            "\tError Code                     : 80E01801 81078603\n"
            "\tError Information              : first\n"
            "\t                               : second\n");
}

// Without it board queries of card and chip would be mixed up.
TEST(NpuSmiFormat, Board) {
  const Chip chip = chip_910b4();
  const Card card = card_of(0, {chip});
  EXPECT_EQ(format_board(of({card}, "24.1.0"), card, &chip),
            "\tNPU ID                         : 0\n"
            "\tChip ID                        : 0\n"
            "\tChip Type                      : Ascend\n"
            "\tChip Name                      : 910B4\n"
            "\tChip Version                   : V1\n"
            "\tBoard ID                       : 0x33\n"
            "\tPCB ID                         : B\n"
            "\tBOM ID                         : 1\n"
            "\tVDie ID                        : 5A0B1C20 20E0C2B1 62D48A50 018210D4 A2050020\n"
            "\tNDie ID                        : DA0B1C20 20E0C2B1 62D48A50 018210D4 A2050020\n"
            "\tChip Position ID               : 0\n"
            "\tPCIe Bus Info                  : 0000:C1:00.0\n"
            "\tFirmware Version               : NA\n");
  const std::string whole = format_board(of({card}, "24.1.0"), card, nullptr);
  EXPECT_NE(whole.find("\tPCI Vendor ID                  : 0x19E5\n"), std::string::npos) << whole;
  EXPECT_NE(whole.find("\tChip Count                     : 1\n"), std::string::npos) << whole;
}

// Without it the matrix of links would lose its order of rows and columns.
TEST(NpuSmiFormat, Topology) {
  Topology topology;
  topology.npus = {0, 3};
  topology.links = {{0, 3}, {std::nullopt, 0}};
  topology.cpus = {"0-63,128-191", ""};
  const std::string text = format_topology(topology);
  EXPECT_EQ(text.substr(0, text.find("\n\n")),
            "\t   NPU0       NPU3       CPU Affinity\n"
            "NPU0       X          HCCS       0-63,128-191\n"
            "NPU3       NA         X          NA");
}

}  // namespace
}  // namespace ascendsim::npu_smi

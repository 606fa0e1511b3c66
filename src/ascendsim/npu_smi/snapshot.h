// Everything npu-smi prints, as values read once. Empty optionals are "not supported" or "not readable": they
// print as NA or -, or their line is left out, as in the real tool.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ascendsim::npu_smi {

// Which layout the real tool uses.
enum class Family { k310P, k910B };

struct Process {
  int pid = 0;
  std::optional<std::string> name;  // from /proc/<pid>/status
  std::uint64_t bytes = 0;
};

struct Pcie {
  unsigned int vendor = 0;
  unsigned int device = 0;
  unsigned int subsystem_vendor = 0;
  unsigned int subsystem_device = 0;
  unsigned int domain = 0;
  unsigned int bus = 0;
  unsigned int slot = 0;
  unsigned int function = 0;
};

struct Board {
  unsigned int board_id = 0;
  unsigned int pcb_id = 0;
  unsigned int bom_id = 0;
  unsigned int slot_id = 0;
};

struct Memory {
  std::uint64_t total_mb = 0;
  std::uint64_t used_mb = 0;
  unsigned int mhz = 0;
  int celsius = 0;
  std::uint64_t hugepages_total = 0;
  std::uint64_t hugepages_used = 0;
};

// Percent, of the media engines.
struct MediaLoad {
  int vdec = 0;
  int vpc = 0;
  int venc = 0;
  int jpege = 0;
  int jpegd = 0;
};

struct Fault {
  unsigned int code = 0;
  std::string text;
};

struct Chip {
  int device = 0;
  int logic_id = -1;
  int phy_id = -1;
  Family family = Family::k910B;
  std::string type;  // "Ascend"
  std::string name;  // "910B4"
  std::string version;
  unsigned int aicore_count = 0;
  std::optional<unsigned int> health;  // DCMI's number
  std::vector<Fault> faults;
  std::optional<Pcie> pcie;
  std::optional<Board> board;
  std::string vdie;  // five hex words; empty if not readable
  std::string ndie;
  std::optional<Memory> hbm;
  std::optional<Memory> ddr;
  std::map<int, unsigned int> percent;  // by DCMI's utilisation type
  std::optional<MediaLoad> media;
  std::optional<int> celsius;
  std::optional<int> deciwatts;
  std::optional<unsigned int> centivolts;
  std::optional<unsigned int> aicore_mhz_max;
  std::optional<unsigned int> aicore_mhz;
  std::optional<std::vector<Process>> processes;
};

struct Label {
  std::string product;
  std::string model;
  std::string manufacturer;
  std::string serial;
};

struct Card {
  int id = 0;
  int mcu_device = -1;
  std::optional<Label> label;
  std::optional<int> mcu_deciwatts;
  std::vector<Chip> chips;
};

// One cell of the link matrix: DCMI's topology type, or nothing.
using Links = std::vector<std::vector<std::optional<int>>>;

struct Snapshot {
  std::string version;
  std::vector<Card> cards;
};

struct Topology {
  std::vector<int> npus;  // card ids
  Links links;
  std::vector<std::string> cpus;  // empty where the driver does not say
};

}  // namespace ascendsim::npu_smi

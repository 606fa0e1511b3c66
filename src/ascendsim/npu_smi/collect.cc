#include "ascendsim/npu_smi/collect.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "ascendsim/dcmi/dcmi_interface_api.h"

namespace ascendsim::npu_smi {
namespace {

constexpr int kUtilisationTypes[] = {DCMI_UTILIZATION_RATE_DDR,           DCMI_UTILIZATION_RATE_AICORE,
                                     DCMI_UTILIZATION_RATE_AICPU,         DCMI_UTILIZATION_RATE_CTRLCPU,
                                     DCMI_UTILIZATION_RATE_DDR_BANDWIDTH, DCMI_UTILIZATION_RATE_HBM,
                                     DCMI_UTILIZATION_RATE_HBM_BANDWIDTH, DCMI_UTILIZATION_RATE_VECTORCORE,
                                     DCMI_UTILIZATION_RATE_NPU,           DCMI_UTILIZATION_RATE_AICUBE};

template <class Char, std::size_t size>
std::string text_of(const Char (&field)[size]) {
  std::string text;
  for (std::size_t i = 0; i < size && field[i] != 0; ++i) text.push_back(static_cast<char>(field[i]));
  return text;
}

std::optional<std::string> process_name(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  if (!std::getline(status, line) || !line.starts_with("Name:\t")) return std::nullopt;
  return line.substr(6);
}

std::string die_text(int card, int device, dcmi_die_type type) {
  dcmi_die_id die{};
  if (dcmi_get_device_die_v2(card, device, type, &die) != DCMI_OK) return "";
  std::array<char, 64> text{};
  const unsigned int* w = &die.soc_die[0];
  std::snprintf(text.data(), text.size(), "%08X %08X %08X %08X %08X", w[0], w[1], w[2], w[3], w[4]);
  return text.data();
}

void read_identity(int card, Chip& chip) {
  const int device = chip.device;
  int logic = -1;
  unsigned int phy = 0;
  if (dcmi_get_device_logic_id(&logic, card, device) == DCMI_OK) chip.logic_id = logic;
  if (logic >= 0 && dcmi_get_device_phyid_from_logicid(static_cast<unsigned int>(logic), &phy) == DCMI_OK) {
    chip.phy_id = static_cast<int>(phy);
  }
  dcmi_chip_info info{};
  if (dcmi_get_device_chip_info(card, device, &info) == DCMI_OK) {
    chip.type = text_of(info.chip_type);
    chip.name = text_of(info.chip_name);
    chip.version = text_of(info.chip_ver);
    chip.aicore_count = info.aicore_cnt;
  }
  chip.family = chip.name.starts_with("310") ? Family::k310P : Family::k910B;
  dcmi_board_info board{};
  if (dcmi_get_device_board_info(card, device, &board) == DCMI_OK) {
    chip.board = Board{board.board_id, board.pcb_id, board.bom_id, board.slot_id};
  }
  dcmi_pcie_info_all pcie{};
  if (dcmi_get_device_pcie_info_v2(card, device, &pcie) == DCMI_OK) {
    chip.pcie = Pcie{pcie.venderid,
                     pcie.deviceid,
                     pcie.subvenderid,
                     pcie.subdeviceid,
                     static_cast<unsigned int>(pcie.domain),
                     pcie.bdf_busid,
                     pcie.bdf_deviceid,
                     pcie.bdf_funcid};
  }
  chip.vdie = die_text(card, device, VDIE);
  chip.ndie = die_text(card, device, NDIE);
}

void read_memory(int card, Chip& chip) {
  dcmi_hbm_info hbm{};
  if (dcmi_get_device_hbm_info(card, chip.device, &hbm) == DCMI_OK) {
    chip.hbm = Memory{hbm.memory_size, hbm.memory_usage, hbm.freq, hbm.temp, 0, 0};
  }
  dcmi_get_memory_info_stru ddr{};
  if (dcmi_get_device_memory_info_v3(card, chip.device, &ddr) == DCMI_OK) {
    chip.ddr = Memory{ddr.memory_size,     ddr.memory_size - ddr.memory_available,  ddr.freq, 0,
                      ddr.hugepages_total, ddr.hugepages_total - ddr.hugepages_free};
  }
}

void read_faults(int card, Chip& chip) {
  int count = 0;
  std::array<unsigned int, 128> codes{};
  if (dcmi_get_device_errorcode_v2(card, chip.device, &count, codes.data(), codes.size()) != DCMI_OK) return;
  for (int i = 0; i < count && i < static_cast<int>(codes.size()); ++i) {
    Fault fault{codes[static_cast<std::size_t>(i)], "NA"};
    std::array<unsigned char, 256> text{};
    if (dcmi_get_device_errorcode_string(card, chip.device, fault.code, text.data(),
                                         static_cast<int>(text.size())) == DCMI_OK) {
      fault.text = reinterpret_cast<const char*>(text.data());
    }
    chip.faults.push_back(std::move(fault));
  }
}

void read_load(int card, Chip& chip) {
  const int device = chip.device;
  unsigned int number = 0;
  int signed_number = 0;
  if (dcmi_get_device_health(card, device, &number) == DCMI_OK) chip.health = number;
  for (const int type : kUtilisationTypes) {
    if (dcmi_get_device_utilization_rate(card, device, type, &number) == DCMI_OK) chip.percent[type] = number;
  }
  if (dcmi_get_device_temperature(card, device, &signed_number) == DCMI_OK) chip.celsius = signed_number;
  if (dcmi_get_device_power_info(card, device, &signed_number) == DCMI_OK) chip.deciwatts = signed_number;
  if (dcmi_get_device_voltage(card, device, &number) == DCMI_OK) chip.centivolts = number;
  dcmi_dvpp_ratio media{};
  if (dcmi_get_device_dvpp_ratio_info(card, device, &media) == DCMI_OK) {
    chip.media =
        MediaLoad{media.vdec_ratio, media.vpc_ratio, media.venc_ratio, media.jpege_ratio, media.jpegd_ratio};
  }
  dcmi_aicore_info aicore{};
  if (dcmi_get_device_aicore_info(card, device, &aicore) == DCMI_OK) {
    chip.aicore_mhz_max = aicore.freq;
    chip.aicore_mhz = aicore.cur_freq;
  }
}

void read_processes(int card, Chip& chip) {
  std::array<dcmi_proc_mem_info, DCMI_MAX_PROC_NUM> list{};
  int count = 0;
  if (dcmi_get_device_resource_info(card, chip.device, list.data(), &count) != DCMI_OK) return;
  chip.processes.emplace();
  for (int i = 0; i < count && i < DCMI_MAX_PROC_NUM; ++i) {
    const dcmi_proc_mem_info& one = list[static_cast<std::size_t>(i)];
    chip.processes->push_back({one.proc_id, process_name(one.proc_id), one.proc_mem_usage});
  }
}

Card read_card(int id) {
  Card card;
  card.id = id;
  int device_id_max = 0;
  int cpu = -1;
  if (dcmi_get_device_id_in_card(id, &device_id_max, &card.mcu_device, &cpu) != DCMI_OK) card.mcu_device = -1;
  dcmi_elabel_info label{};
  if (dcmi_get_card_elabel_v2(id, &label) == DCMI_OK) {
    card.label = Label{text_of(label.product_name), text_of(label.model), text_of(label.manufacturer),
                       text_of(label.serial_number)};
  }
  int power = 0;
  if (dcmi_mcu_get_power_info(id, &power) == DCMI_OK) card.mcu_deciwatts = power;
  int count = 0;
  if (dcmi_get_device_num_in_card(id, &count) != DCMI_OK) count = 0;
  for (int device = 0; device < count; ++device) {
    dcmi_unit_type type = NPU_TYPE;
    if (dcmi_get_device_type(id, device, &type) != DCMI_OK || type != NPU_TYPE) continue;
    Chip chip;
    chip.device = device;
    read_identity(id, chip);
    read_memory(id, chip);
    read_faults(id, chip);
    read_load(id, chip);
    read_processes(id, chip);
    card.chips.push_back(std::move(chip));
  }
  return card;
}

}  // namespace

int collect(Snapshot* snapshot, std::optional<int> only) {
  if (const int code = dcmi_init(); code != DCMI_OK) return code;
  std::array<char, 256> version{};
  if (dcmi_get_driver_version(version.data(), version.size()) == DCMI_OK) snapshot->version = version.data();
  std::array<int, DCMI_MAX_CARD_NUM> ids{};
  int count = 0;
  if (const int code = dcmi_get_card_list(&count, ids.data(), DCMI_MAX_CARD_NUM); code != DCMI_OK)
    return code;
  for (int i = 0; i < count; ++i) {
    const int id = ids[static_cast<std::size_t>(i)];
    if (!only || id == *only) {
      snapshot->cards.push_back(read_card(id));
    } else {
      snapshot->cards.emplace_back().id = id;
    }
  }
  return DCMI_OK;
}

Topology collect_topology(const Snapshot& snapshot) {
  Topology topology;
  for (const Card& card : snapshot.cards) {
    topology.npus.push_back(card.id);
    std::vector<std::optional<int>> row;
    for (const Card& other : snapshot.cards) {
      int type = 0;
      const bool known = dcmi_get_topo_info_by_device_id(card.id, 0, other.id, 0, &type) == DCMI_OK;
      row.push_back(known ? std::optional<int>(type) : std::nullopt);
    }
    topology.links.push_back(std::move(row));
    std::array<char, 256> cpus{};
    int length = static_cast<int>(cpus.size());
    const bool known = dcmi_get_affinity_cpu_info_by_device_id(card.id, 0, cpus.data(), &length) == DCMI_OK;
    topology.cpus.emplace_back(known ? cpus.data() : "");
  }
  return topology;
}

}  // namespace ascendsim::npu_smi

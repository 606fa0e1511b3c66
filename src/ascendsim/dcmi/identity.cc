// Who is there: cards, chips, ids, boards, addresses.
#include <algorithm>
#include <cstring>
#include <string>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"
#include "ascendsim/dcmi/text.h"

using ascendsim::NpuRecord;
using ascendsim::dcmi::copy_text;
using ascendsim::dcmi::Driver;

namespace {

constexpr const char* kDcmiVersion = "24.1.0";

// The code of a call about a card as a whole, and the number after its last chip: a container may see a later
// chip of a card and not the first.
int check_card(int card, int* chips) {
  NpuRecord first{};
  const int code = Driver::instance().find(card, 0, &first);
  if (code != DCMI_OK && code != DCMI_ERR_CODE_INVALID_DEVICE_ID) return code;
  int end = 0;
  for (const NpuRecord& npu : Driver::instance().table()) {
    if (static_cast<int>(npu.card_id) == card) end = std::max(end, static_cast<int>(npu.chip_id) + 1);
  }
  if (end == 0) return DCMI_ERR_CODE_INVALID_DEVICE_ID;
  *chips = end;
  return DCMI_OK;
}

void fill_chip(const NpuRecord& npu, dcmi_chip_info* info) {
  std::memset(info, 0, sizeof *info);
  copy_text(npu.chip_type, info->chip_type);
  copy_text(npu.chip_name, info->chip_name);
  copy_text(npu.chip_version, info->chip_ver);
  info->aicore_cnt = npu.ai_cores;
}

const char* product_of(const NpuRecord& npu) {
  return ascendsim::dcmi::has_hbm(npu) ? "Atlas 800I A2" : "Atlas 300I Pro";
}

template <class Match>
int find_in_table(Match match, NpuRecord* found) {
  const auto table = Driver::instance().table();
  const auto entry = std::ranges::find_if(table, match);
  if (entry == table.end()) {
    return table.empty() ? DCMI_ERR_CODE_INNER_ERR : DCMI_ERR_CODE_INVALID_DEVICE_ID;
  }
  *found = *entry;
  return DCMI_OK;
}

}  // namespace

extern "C" {

int dcmi_init(void) {
  return Driver::instance().init();
}

int dcmi_get_dcmi_version(char* version, unsigned int length) {
  if (version == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  return copy_text(kDcmiVersion, version, length) ? DCMI_OK : DCMI_ERR_CODE_INVALID_PARAMETER;
}

int dcmi_get_driver_version(char* version, unsigned int length) {
  if (version == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  std::string text;
  if (const int code = Driver::instance().driver_version(&text); code != DCMI_OK) return code;
  return copy_text(text, version, length) ? DCMI_OK : DCMI_ERR_CODE_INVALID_PARAMETER;
}

int dcmi_get_card_list(int* card_count, int* card_list, int list_length) {
  if (card_count == nullptr || card_list == nullptr || list_length <= 0)
    return DCMI_ERR_CODE_INVALID_PARAMETER;
  std::string version;
  if (const int code = Driver::instance().driver_version(&version); code != DCMI_OK) return code;
  std::vector<int> cards;
  for (const NpuRecord& npu : Driver::instance().table()) cards.push_back(static_cast<int>(npu.card_id));
  std::ranges::sort(cards);
  cards.erase(std::unique(cards.begin(), cards.end()), cards.end());
  *card_count = std::min(static_cast<int>(cards.size()), list_length);
  std::copy_n(cards.begin(), *card_count, card_list);
  return DCMI_OK;
}

int dcmi_get_card_num_list(int* card_count, int* card_list, int list_length) {
  return dcmi_get_card_list(card_count, card_list, list_length);
}

int dcmi_get_device_num_in_card(int card_id, int* device_count) {
  if (device_count == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  return check_card(card_id, device_count);
}

int dcmi_get_device_id_in_card(int card_id, int* device_id_max, int* mcu_id, int* cpu_id) {
  if (device_id_max == nullptr || mcu_id == nullptr || cpu_id == nullptr)
    return DCMI_ERR_CODE_INVALID_PARAMETER;
  int chips = 0;
  if (const int code = check_card(card_id, &chips); code != DCMI_OK) return code;
  *device_id_max = chips;
  *mcu_id = chips;  // one controller a board, numbered behind its chips
  *cpu_id = -1;
  return DCMI_OK;
}

int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type* type) {
  if (type == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  const int code = Driver::instance().find(card_id, device_id, &npu);
  if (code == DCMI_OK) {
    *type = NPU_TYPE;
    return DCMI_OK;
  }
  int chips = 0;
  if (code != DCMI_ERR_CODE_INVALID_DEVICE_ID || check_card(card_id, &chips) != DCMI_OK ||
      device_id != chips) {
    return code;
  }
  *type = MCU_TYPE;
  return DCMI_OK;
}

int dcmi_get_device_logic_id(int* logic_id, int card_id, int device_id) {
  if (logic_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  *logic_id = static_cast<int>(npu.logic_id);
  return DCMI_OK;
}

int dcmi_get_card_id_device_id_from_logicid(int* card_id, int* device_id, unsigned int logic_id) {
  if (card_id == nullptr || device_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  const int code = find_in_table([logic_id](const NpuRecord& one) { return one.logic_id == logic_id; }, &npu);
  if (code != DCMI_OK) return code;
  *card_id = static_cast<int>(npu.card_id);
  *device_id = static_cast<int>(npu.chip_id);
  return DCMI_OK;
}

int dcmi_get_card_id_device_id_from_phyid(int* card_id, int* device_id, unsigned int phy_id) {
  if (card_id == nullptr || device_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  const int code = find_in_table([phy_id](const NpuRecord& one) { return one.phy_id == phy_id; }, &npu);
  if (code != DCMI_OK) return code;
  *card_id = static_cast<int>(npu.card_id);
  *device_id = static_cast<int>(npu.chip_id);
  return DCMI_OK;
}

int dcmi_get_device_phyid_from_logicid(unsigned int logic_id, unsigned int* phy_id) {
  if (phy_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  const int code = find_in_table([logic_id](const NpuRecord& one) { return one.logic_id == logic_id; }, &npu);
  if (code == DCMI_OK) *phy_id = npu.phy_id;
  return code;
}

int dcmi_get_device_logicid_from_phyid(unsigned int phy_id, unsigned int* logic_id) {
  if (logic_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  const int code = find_in_table([phy_id](const NpuRecord& one) { return one.phy_id == phy_id; }, &npu);
  if (code == DCMI_OK) *logic_id = npu.logic_id;
  return code;
}

int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info* info) {
  if (info == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  fill_chip(npu, info);
  return DCMI_OK;
}

int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2* info) {
  if (info == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  dcmi_chip_info first{};
  fill_chip(npu, &first);
  std::memset(info, 0, sizeof *info);
  std::memcpy(info, &first, sizeof first);
  copy_text(npu.chip_name, info->npu_name);
  return DCMI_OK;
}

int dcmi_get_product_type(int card_id, int device_id, char* product_type, int length) {
  if (product_type == nullptr || length <= 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  return copy_text(product_of(npu), product_type, static_cast<std::size_t>(length))
             ? DCMI_OK
             : DCMI_ERR_CODE_INVALID_PARAMETER;
}

int dcmi_get_device_board_info(int card_id, int device_id, struct dcmi_board_info* info) {
  if (info == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  *info = {npu.board_id, 1, 1, npu.card_id};
  return DCMI_OK;
}

int dcmi_get_mainboard_id(int card_id, int device_id, unsigned int* mainboard_id) {
  if (mainboard_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  *mainboard_id = 0;
  return DCMI_OK;
}

int dcmi_get_card_elabel_v2(int card_id, struct dcmi_elabel_info* info) {
  if (info == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  const int code = find_in_table(
      [card_id](const NpuRecord& one) { return static_cast<int>(one.card_id) == card_id; }, &npu);
  if (code != DCMI_OK) return code;
  std::memset(info, 0, sizeof *info);
  copy_text(product_of(npu), info->product_name);
  copy_text(npu.chip_name, info->model);
  copy_text("Huawei", info->manufacturer);
  copy_text("2024-01-01", info->manufacturer_date);
  std::snprintf(info->serial_number, sizeof info->serial_number, "1024%08X", npu.die_id[0]);
  return DCMI_OK;
}

int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all* info) {
  if (info == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  std::memset(info, 0, sizeof *info);
  info->venderid = npu.pci_vendor_id;
  info->subvenderid = npu.pci_vendor_id;
  info->deviceid = npu.pci_device_id;
  info->subdeviceid = 0x0100;
  info->domain = static_cast<int>(npu.pci_domain);
  info->bdf_busid = npu.pci_bus;
  info->bdf_deviceid = npu.pci_device;
  info->bdf_funcid = npu.pci_function;
  return DCMI_OK;
}

int dcmi_get_device_die_v2(int card_id, int device_id, enum dcmi_die_type type, struct dcmi_die_id* die) {
  if (die == nullptr || type < NDIE || type > DDIE) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  if (type == DDIE) return DCMI_ERR_CODE_NOT_SUPPORT;
  std::copy(std::begin(npu.die_id), std::end(npu.die_id), std::begin(die->soc_die));
  // The two dies of a chip have numbers of their own.
  if (type == NDIE) die->soc_die[0] ^= 0x80000000U;
  return DCMI_OK;
}

}  // extern "C"

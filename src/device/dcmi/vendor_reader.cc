#include "device/dcmi/vendor_reader.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "device/dcmi/plausible.h"

namespace tangram::device {

VendorReader::VendorReader(const Symbols& symbols, const VendorCaller& caller)
    : symbols_(symbols), call_(caller) {}

std::int32_t VendorReader::init() {
  return call_("dcmi_init", symbols_.init);
}

Field<std::string> VendorReader::driver_version() {
  unsigned char raw[2 * abi::kVersionBytesMax] = {};
  const std::int32_t code =
      call_("dcmi_get_driver_version", symbols_.driver_version, reinterpret_cast<char*>(&raw[0]),
            static_cast<unsigned int>(abi::kVersionBytesMax));
  return checked_text(code, text_of(raw));
}

Field<std::string> VendorReader::mcu_version(std::int32_t card) {
  unsigned char raw[2 * abi::kVersionBytesMax] = {};
  int used = 0;
  const std::int32_t code = call_("dcmi_mcu_get_version", symbols_.mcu_version, card,
                                  reinterpret_cast<char*>(&raw[0]), abi::kVersionBytesMax, &used);
  return checked_text(code, text_of(raw));
}

Field<std::vector<std::int32_t>> VendorReader::cards() {
  int count = 0;
  int list[4 * abi::kCardsMax] = {};
  const std::int32_t code = call_("dcmi_get_card_list", symbols_.card_list, &count, &list[0], abi::kCardsMax);
  if (code != abi::kOk) return Field<std::vector<std::int32_t>>::unknown(code);
  if (count < 0 || count > abi::kCardsMax) return Field<std::vector<std::int32_t>>::unknown(kCodeImplausible);
  std::vector<std::int32_t> cards;
  for (int i = 0; i < count; ++i) {
    if (list[i] < 0 || list[i] > 0xFFFF) return Field<std::vector<std::int32_t>>::unknown(kCodeImplausible);
    cards.push_back(list[i]);
  }
  return Field<std::vector<std::int32_t>>::known(std::move(cards));
}

Field<std::vector<std::int32_t>> VendorReader::npus_of(std::int32_t card) {
  int count = 0;
  const std::int32_t code = call_("dcmi_get_device_num_in_card", symbols_.device_count, card, &count);
  if (code != abi::kOk) return Field<std::vector<std::int32_t>>::unknown(code);
  // The MCU and the CPUs of a card count as devices too.
  if (count < 0 || count > 4 * abi::kDevicesPerCardMax) {
    return Field<std::vector<std::int32_t>>::unknown(kCodeImplausible);
  }
  std::vector<std::int32_t> npus;
  for (int device = 0; device < count; ++device) {
    int unit_type = abi::kUnitNpu;
    // A chip whose type cannot be read stays listed: an ill NPU must be seen, not vanish. A number that the
    // library does not know at all belongs to a chip that is hidden from this container.
    const std::int32_t type_code =
        call_("dcmi_get_device_type", symbols_.device_type, card, device, &unit_type);
    const bool other = type_code == abi::kOk && unit_type != abi::kUnitNpu;
    if (!other && type_code != abi::kInvalidDevice) npus.push_back(device);
  }
  return Field<std::vector<std::int32_t>>::known(std::move(npus));
}

NpuIdentity VendorReader::identify(NpuAddress at) {
  NpuIdentity identity;
  int logic = -1;
  const std::int32_t logic_code =
      call_("dcmi_get_device_logic_id", symbols_.logic_id, &logic, at.card, at.device);
  identity.logic_id = checked(logic_code, static_cast<std::uint32_t>(logic),
                              logic >= 0 && logic <= static_cast<int>(kPhyIdMax));
  if (identity.logic_id.valid) {
    unsigned int phy = 0;
    const std::int32_t code =
        call_("dcmi_get_device_phyid_from_logicid", symbols_.phy_id, identity.logic_id.value, &phy);
    identity.phy_id = checked<std::uint32_t>(code, phy, phy <= kPhyIdMax);
  } else {
    identity.phy_id = Field<std::uint32_t>::unknown(identity.logic_id.code);
  }
  read_chip(at, identity);
  read_board(at, identity);
  identity.mcu_version = mcu_version(at.card);
  return identity;
}

void VendorReader::read_chip(NpuAddress at, NpuIdentity& identity) {
  Roomy<abi::ChipInfo> chip;
  const std::int32_t code =
      call_("dcmi_get_device_chip_info", symbols_.chip_info, at.card, at.device, &chip.value);
  identity.chip_type = checked_text(code, text_of(chip.value.chip_type));
  identity.chip_name = checked_text(code, text_of(chip.value.chip_name));
  identity.chip_version = checked_text(code, text_of(chip.value.chip_version));
  const std::uint32_t cores = chip.value.aicore_count;
  identity.aicore_count = checked<std::uint32_t>(code, cores, cores > 0 && cores <= kAiCoresMax);
}

void VendorReader::read_board(NpuAddress at, NpuIdentity& identity) {
  Roomy<abi::BoardInfo> board;
  const std::int32_t board_code =
      call_("dcmi_get_device_board_info", symbols_.board_info, at.card, at.device, &board.value);
  identity.board_id =
      checked<std::uint32_t>(board_code, board.value.board_id, board.value.board_id != UINT32_MAX);
  identity.slot_id =
      checked<std::uint32_t>(board_code, board.value.slot_id, board.value.slot_id != UINT32_MAX);

  Roomy<abi::PcieInfo> pcie;
  const std::int32_t pcie_code =
      call_("dcmi_get_device_pcie_info_v2", symbols_.pcie_info, at.card, at.device, &pcie.value);
  const abi::PcieInfo& p = pcie.value;
  char text[64];
  std::snprintf(text, sizeof text, "%04X:%02X:%02X.%X", static_cast<unsigned int>(p.domain), p.bus, p.device,
                p.function);
  identity.pcie_address = checked<std::string>(
      pcie_code, text, p.domain >= 0 && p.bus <= 0xFF && p.device <= 0x1F && p.function <= 7);

  Roomy<abi::DieId> die;
  const std::int32_t die_code =
      call_("dcmi_get_device_die_v2", symbols_.die, at.card, at.device, abi::kVdie, &die.value);
  const auto& w = die.value.words;
  std::snprintf(text, sizeof text, "%08X-%08X-%08X-%08X-%08X", w[0], w[1], w[2], w[3], w[4]);
  const bool zero = (w[0] | w[1] | w[2] | w[3] | w[4]) == 0;
  identity.uuid = checked<std::string>(die_code, text, !zero);
}

NpuTelemetry VendorReader::read_health(NpuAddress at) {
  NpuTelemetry telemetry;
  unsigned int health = 0;
  const std::int32_t health_code =
      call_("dcmi_get_device_health", symbols_.health, at.card, at.device, &health);
  telemetry.health = checked<std::uint32_t>(health_code, health, is_plausible_health(health));
  telemetry.error_codes = error_codes(at);
  return telemetry;
}

NpuTelemetry VendorReader::read_use(NpuAddress at) {
  NpuTelemetry telemetry;
  read_memory(at, telemetry);

  unsigned int percent = 0;
  const std::int32_t percent_code = call_("dcmi_get_device_utilization_rate", symbols_.utilisation, at.card,
                                          at.device, abi::kUtilisationAiCore, &percent);
  telemetry.aicore_percent = checked<std::uint32_t>(percent_code, percent, percent <= kPercentMax);

  int celsius = 0;
  const std::int32_t celsius_code =
      call_("dcmi_get_device_temperature", symbols_.temperature, at.card, at.device, &celsius);
  telemetry.temperature_celsius =
      checked<std::int32_t>(celsius_code, celsius, celsius >= kCelsiusMin && celsius <= kCelsiusMax);
  telemetry.power_tenth_watts = power(at);
  telemetry.processes = processes(at);
  return telemetry;
}

void VendorReader::read_memory(NpuAddress at, NpuTelemetry& telemetry) {
  Roomy<abi::HbmInfo> hbm;
  std::int32_t code = call_("dcmi_get_device_hbm_info", symbols_.hbm_info, at.card, at.device, &hbm.value);
  std::uint64_t total_mb = hbm.value.memory_size_mb;
  std::uint64_t used_mb = hbm.value.memory_usage_mb;
  if (code == abi::kNotSupported || code == kCodeSymbolMissing || (code == abi::kOk && total_mb == 0)) {
    // A 310P has DDR and no HBM.
    Roomy<abi::MemoryInfo> ddr;
    code = call_("dcmi_get_device_memory_info_v3", symbols_.memory_info, at.card, at.device, &ddr.value);
    total_mb = ddr.value.memory_size_mb;
    const std::uint64_t available_mb = ddr.value.memory_available_mb;
    used_mb = available_mb <= total_mb ? total_mb - available_mb : UINT64_MAX;
  }
  const bool total_plausible = total_mb > 0 && total_mb <= kMemoryMbMax;
  const bool used_plausible = total_plausible && used_mb <= total_mb;
  telemetry.memory_total_bytes = checked<std::uint64_t>(code, total_mb * kBytesPerMb, total_plausible);
  telemetry.memory_used_bytes = checked<std::uint64_t>(code, used_mb * kBytesPerMb, used_plausible);
}

Field<std::vector<std::uint32_t>> VendorReader::error_codes(NpuAddress at) {
  int count = 0;
  unsigned int list[4 * abi::kErrorCodesMax] = {};
  const std::int32_t code = call_("dcmi_get_device_errorcode_v2", symbols_.error_codes, at.card, at.device,
                                  &count, &list[0], static_cast<unsigned int>(abi::kErrorCodesMax));
  const bool plausible = count >= 0 && count <= abi::kErrorCodesMax;
  std::vector<std::uint32_t> codes;
  if (plausible) codes.assign(&list[0], &list[count]);
  return checked(code, std::move(codes), plausible);
}

Field<std::int32_t> VendorReader::power(NpuAddress at) {
  int tenth_watts = 0;
  std::int32_t code = call_("dcmi_get_device_power_info", symbols_.power, at.card, at.device, &tenth_watts);
  if (code == abi::kNotSupported || code == kCodeSymbolMissing) {
    // On a 310P the board's MCU measures, not the chip.
    code = call_("dcmi_mcu_get_power_info", symbols_.mcu_power, at.card, &tenth_watts);
  }
  return checked<std::int32_t>(code, tenth_watts, tenth_watts >= 0 && tenth_watts <= kTenthWattsMax);
}

Field<std::vector<ProcessUse>> VendorReader::processes(NpuAddress at) {
  static abi::ProcessMemory list[2 * abi::kProcessesMax];
  std::memset(&list[0], 0, sizeof list);
  int count = abi::kProcessesMax;
  const std::int32_t code =
      call_("dcmi_get_device_resource_info", symbols_.processes, at.card, at.device, &list[0], &count);
  const bool plausible = count >= 0 && count <= abi::kProcessesMax;
  std::vector<ProcessUse> processes;
  for (int i = 0; code == abi::kOk && plausible && i < count; ++i) {
    if (list[i].process_id > 0 && list[i].bytes <= kMemoryBytesMax) {
      processes.push_back({list[i].process_id, list[i].bytes});
    }
  }
  return checked(code, std::move(processes), plausible);
}

}  // namespace tangram::device

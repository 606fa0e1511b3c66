// Queries about one card or chip: `npu-smi info -t <type> -i N [-c M]`.
#include <functional>

#include "ascendsim/npu_smi/format.h"
#include "ascendsim/npu_smi/print.h"

namespace ascendsim::npu_smi {
namespace {

std::string hex(const char* format, unsigned int value) {
  char text[32];
  std::snprintf(&text[0], sizeof text, format, value);
  return &text[0];
}

template <class T>
std::string number_or_na(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "NA";
}

std::string scaled(const std::optional<int>& value, double scale, int digits) {
  std::string text;
  if (!value) return "NA";
  print(text, "%.*f", digits, *value * scale);
  return text;
}

// The frame of both forms: the card with all its chips, or one chip.
std::string each_chip(const Card& card, const Chip* chip,
                      const std::function<void(std::string&, const Chip&)>& lines) {
  std::string out;
  print_key(out, "NPU ID", card.id);
  if (chip != nullptr) {
    print_key(out, "Chip ID", chip->device);
    lines(out, *chip);
    return out;
  }
  print_key(out, "Chip Count", static_cast<long long>(card.chips.size()));
  for (const Chip& one : card.chips) {
    out += '\n';
    lines(out, one);
    print_key(out, "Chip ID", one.device);
  }
  return out;
}

// A rate that the driver does not give has no line at all.
void rate(std::string& out, const Chip& chip, const char* key, int type) {
  const auto found = chip.percent.find(type);
  if (found != chip.percent.end()) print_key(out, key, found->second);
}

long long percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<long long>(part * 100 / whole);
}

void pcie_lines(std::string& out, const Pcie& pcie) {
  print_key(out, "PCI Vendor ID", hex("0x%04X", pcie.vendor));
  print_key(out, "PCI Device ID", hex("0x%04X", pcie.device));
  print_key(out, "Subsystem Vendor ID", hex("0x%04X", pcie.subsystem_vendor));
  print_key(out, "Subsystem Device ID", hex("0x%04X", pcie.subsystem_device));
}

void board_lines(std::string& out, const Board& board) {
  print_key(out, "Board ID", hex("0x%02x", board.board_id));
  print_key(out, "PCB ID", board.pcb_id < 26 ? std::string(1, static_cast<char>('A' + board.pcb_id)) : "NA");
  print_key(out, "BOM ID", board.bom_id);
}

std::string board_of_card(const Snapshot& snapshot, const Card& card) {
  std::string out;
  print_key(out, "NPU ID", card.id);
  if (card.label) {
    print_key(out, "Product Name", card.label->product);
    print_key(out, "Model", card.label->model);
    print_key(out, "Manufacturer", card.label->manufacturer);
    print_key(out, "Serial Number", card.label->serial);
  }
  print_key(out, "Software Version", snapshot.version);
  print_key(out, "Firmware Version", "NA");
  print_key(out, "Compatibility", "OK");
  if (!card.chips.empty()) {
    const Chip& first = card.chips[0];
    if (first.board) board_lines(out, *first.board);
    print_key(out, "PCIe Bus Info", bus_text(first));
    if (first.board) print_key(out, "Slot ID", first.board->slot_id);
    print_key(out, "Class ID", "NA");
    if (first.pcie) pcie_lines(out, *first.pcie);
  }
  print_key(out, "Chip Count", static_cast<long long>(card.chips.size()));
  return out;
}

std::string board_of_chip(const Card& card, const Chip& chip) {
  std::string out;
  print_key(out, "NPU ID", card.id);
  print_key(out, "Chip ID", chip.device);
  print_key(out, "Chip Type", chip.type);
  print_key(out, "Chip Name", chip.name);
  print_key(out, "Chip Version", chip.version);
  if (chip.board) board_lines(out, *chip.board);
  if (chip.family == Family::k310P) {
    print_key(out, "Die ID", chip.vdie.empty() ? "NA" : chip.vdie);
  } else {
    print_key(out, "VDie ID", chip.vdie.empty() ? "NA" : chip.vdie);
    print_key(out, "NDie ID", chip.ndie.empty() ? "NA" : chip.ndie);
  }
  print_key(out, "Chip Position ID", chip.device);
  print_key(out, "PCIe Bus Info", bus_text(chip));
  print_key(out, "Firmware Version", "NA");
  return out;
}

void media_lines(std::string& out, const Chip& chip) {
  if (!chip.media) return;
  print_key(out, "DVPP VDEC Usage Rate(%)", chip.media->vdec);
  print_key(out, "DVPP VPC Usage Rate(%)", chip.media->vpc);
  print_key(out, "DVPP VENC Usage Rate(%)", chip.media->venc);
  print_key(out, "DVPP JPEGE Usage Rate(%)", chip.media->jpege);
  print_key(out, "DVPP JPEGD Usage Rate(%)", chip.media->jpegd);
}

void process_lines(std::string& out, const Chip& chip) {
  if (!chip.processes || chip.processes->empty()) {
    out += "\tNo process in device.\n";
    return;
  }
  for (const Process& process : *chip.processes) {
    if (!process.name) out += "\tGet pid name failed.\n";
    print(out, "\tProcess id:%-7d Process name:%-17s Process memory(MB):%lu\n", process.pid,
          process.name.value_or("").c_str(), process.bytes >> 20U);
  }
}

}  // namespace

std::string format_board(const Snapshot& snapshot, const Card& card, const Chip* chip) {
  return chip == nullptr ? board_of_card(snapshot, card) : board_of_chip(card, *chip);
}

std::string format_usages(const Card& card, const Chip* chip) {
  return each_chip(card, chip, [](std::string& out, const Chip& one) {
    const bool hbm_family = one.family == Family::k910B;
    const Memory ddr = one.ddr.value_or(Memory{});
    print_key(out, "DDR Capacity(MB)", static_cast<long long>(ddr.total_mb));
    print_key(out, "DDR Usage Rate(%)", percent_of(ddr.used_mb, ddr.total_mb));
    print_key(out, "DDR Hugepages Total(page)", static_cast<long long>(ddr.hugepages_total));
    print_key(out, "DDR Hugepages Usage Rate(%)", percent_of(ddr.hugepages_used, ddr.hugepages_total));
    if (hbm_family && one.hbm) {
      print_key(out, "HBM Capacity(MB)", static_cast<long long>(one.hbm->total_mb));
      print_key(out, "HBM Usage Rate(%)", percent_of(one.hbm->used_mb, one.hbm->total_mb));
    }
    rate(out, one, "Aicore Usage Rate(%)", 2);
    if (hbm_family) rate(out, one, "Aivector Usage Rate(%)", 12);
    rate(out, one, "Aicpu Usage Rate(%)", 3);
    rate(out, one, "Ctrlcpu Usage Rate(%)", 4);
    if (!hbm_family) rate(out, one, "Vectorcore Usage Rate(%)", 12);
    rate(out, one, "DDR Bandwidth Usage Rate(%)", 5);
    if (!hbm_family) media_lines(out, one);
    if (hbm_family) {
      rate(out, one, "HBM Bandwidth Usage Rate(%)", 10);
      rate(out, one, "NPU Utilization(%)", 13);
      rate(out, one, "Aicube Usage Rate(%)", 14);
    }
  });
}

std::string format_memory(const Card& card, const Chip* chip) {
  return each_chip(card, chip, [](std::string& out, const Chip& one) {
    const Memory ddr = one.ddr.value_or(Memory{});
    if (one.family == Family::k310P)
      print_key(out, "Total DDR Capacity(MB)", static_cast<long long>(ddr.total_mb));
    print_key(out, "DDR Capacity(MB)", static_cast<long long>(ddr.total_mb));
    print_key(out, "DDR Clock Speed(MHz)", ddr.mhz);
    if (one.hbm) {
      print_key(out, "HBM Capacity(MB)", static_cast<long long>(one.hbm->total_mb));
      print_key(out, "HBM Clock Speed(MHz)", one.hbm->mhz);
      print_key(out, "HBM Temperature(C)", one.hbm->celsius);
      print_key(out, "HBM Manufacturer ID", "0x56");
    }
  });
}

std::string format_processes(const Card& card, const Chip* chip) {
  std::string out;
  if (chip != nullptr) {
    process_lines(out, *chip);
    return out;
  }
  return each_chip(card, nullptr, process_lines);
}

std::string format_common(const Card& card, const Chip* chip) {
  std::string out;
  print_key(out, "NPU ID", card.id);
  print_key(out, "Chip Count", static_cast<long long>(card.chips.size()));
  for (const Chip& one : card.chips) {
    if (chip != nullptr && one.device != chip->device) continue;
    out += '\n';
    print_key(out, "Chip ID", one.device);
    const Memory ddr = one.ddr.value_or(Memory{});
    print_key(out, "Memory Usage Rate(%)", percent_of(ddr.used_mb, ddr.total_mb));
    if (one.hbm) print_key(out, "HBM Usage Rate(%)", percent_of(one.hbm->used_mb, one.hbm->total_mb));
    rate(out, one, "Aicore Usage Rate(%)", 2);
    print_key(out, "Aicore Freq(MHZ)", number_or_na(one.aicore_mhz_max));
    print_key(out, "Aicore curFreq(MHZ)", number_or_na(one.aicore_mhz));
    print_key(out, "Aicore Count", one.aicore_count);
    print_key(out, "Temperature(C)", number_or_na(one.celsius));
    if (one.family == Family::k910B) print_key(out, "NPU Real-time Power(W)", scaled(one.deciwatts, 0.1, 1));
  }
  out += '\n';
  print_key(out, "Chip Name", "mcu");
  if (card.mcu_deciwatts) print_key(out, "NPU Real-time Power(W)", scaled(card.mcu_deciwatts, 0.1, 1));
  return out;
}

std::string format_health(const Card& card, const Chip* chip) {
  return each_chip(card, chip, [](std::string& out, const Chip& one) {
    print_key(out, "Health Status", health_text(one));
    std::string codes;
    for (const Fault& fault : one.faults) codes += (codes.empty() ? "" : " ") + hex("%04X", fault.code);
    print_key(out, "Error Code", codes.empty() ? "NA" : codes);
    print_key(out, "Error Information", one.faults.empty() ? "NA" : one.faults[0].text);
    for (std::size_t i = 1; i < one.faults.size(); ++i) print_key(out, "", one.faults[i].text);
  });
}

std::string format_temperature(const Card& card, const Chip* chip) {
  return each_chip(card, chip, [](std::string& out, const Chip& one) {
    print_key(out, "NPU Temperature (C)", number_or_na(one.celsius));
  });
}

std::string format_power(const Card& card, const Chip* chip) {
  return each_chip(card, chip, [&card](std::string& out, const Chip& one) {
    const auto& power = one.deciwatts ? one.deciwatts : card.mcu_deciwatts;
    print_key(out, "NPU Real-time Power(W)", scaled(power, 0.1, 1));
  });
}

std::string format_voltage(const Card& card, const Chip* chip) {
  return each_chip(card, chip, [](std::string& out, const Chip& one) {
    const auto centivolts =
        one.centivolts ? std::optional<int>(static_cast<int>(*one.centivolts)) : std::nullopt;
    print_key(out, "Voltage (V)", scaled(centivolts, 0.01, 2));
  });
}

}  // namespace ascendsim::npu_smi

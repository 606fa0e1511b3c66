// The machine that ascendsimd plays, as its YAML description says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ascendsim/daemon/result.h"
#include "ascendsim/protocol/messages.h"
#include "ascendsim/vnpu/templates.h"

namespace ascendsim {

// One chip model. The rates are what the time model computes with; the vendor does not publish all of them.
struct ChipModel {
  std::string chip_name;  // "910B4", as DCMI says it
  std::string soc_name;   // "Ascend910B4", as AscendCL says it
  std::uint32_t board_id = 0;
  std::uint32_t pci_device_id = 0;
  std::uint32_t ai_cores = 0;
  std::uint32_t vector_cores = 0;
  std::uint32_t ai_cpus = 0;
  std::uint32_t aicore_mhz = 0;
  std::uint32_t hbm_mhz = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_bytes_system = 0;  // taken by the device operating system
  std::uint64_t l2_bytes = 0;
  std::uint64_t fp16_flops_per_us = 0;  // all cores together
  std::uint64_t fp32_flops_per_us = 0;
  std::uint64_t memory_bytes_per_us = 0;
  std::uint64_t host_bytes_per_us = 0;  // over PCIe, one direction
  std::uint64_t launch_ns = 0;          // what the chip needs to start any task
  MediaUnits dvpp;                      // units for slices; -1: as many as boards of this kind have
};

struct NpuDescription {
  std::uint32_t phy_id = 0;
  std::uint32_t card_id = 0;
  std::uint32_t chip_id = 0;
  std::uint32_t pci_domain = 0;
  std::uint32_t pci_bus = 0;
  std::uint32_t pci_device = 0;
  std::uint32_t pci_function = 0;
  ChipModel model;
};

// How this machine's driver behaves about virtual devices: drivers differ.
struct VnpuBehaviour {
  std::uint32_t create_ms = 300;     // until a new device's node is there
  bool memory_seen_on_host = true;   // a slice's use shows in its chip's memory
  bool load_known_when_cut = false;  // a cut chip still says how busy it is
};

struct Machine {
  std::string driver_version;
  std::uint32_t boot_ms = 500;  // what a chip takes to start again
  VnpuBehaviour vnpu;
  ComputeMode compute_mode = ComputeMode::kFull;
  std::vector<NpuDescription> npus;  // ascending by phy_id
};

// `source` names the text in messages: "eight-910b4.yaml:12: npus[3].card: …".
Result<Machine> parse_machine(const std::string& yaml, std::string_view source);
Result<Machine> load_machine(const std::string& path);

// The description compiled in: deploy/machines/eight-910b4.yaml.
std::string_view default_machine_yaml();

}  // namespace ascendsim

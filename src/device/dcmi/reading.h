// What the helper process reports about the machine, as plain values. Nothing here is trusted blindly: the
// helper maps vendor code, so the daemon decodes its answers with bounds (see helper_protocol.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ports/device_slices.h"

namespace tangram::device {

// Stands in the place of a vendor code when libdcmi.so does not export the function at all.
inline constexpr std::int32_t kCodeSymbolMissing = -99998;
// The function answered 0, but with a value that cannot be true (0xFF fill, a percentage over 100, a size of
// 0).
inline constexpr std::int32_t kCodeImplausible = -99997;

// One answer of the vendor's library: `code` says why it is not valid. A field that is not valid is unknown,
// never 0.
template <class T>
struct Field {
  T value{};
  bool valid = false;
  std::int32_t code = kCodeSymbolMissing;

  static Field known(T value) { return Field{std::move(value), true, 0}; }
  static Field unknown(std::int32_t code) { return Field{T{}, false, code}; }
};

// Where the vendor's calls find an NPU: the board ("NPU ID" of npu-smi, may skip numbers) and the chip on it.
struct NpuAddress {
  std::int32_t card = 0;
  std::int32_t device = 0;

  friend auto operator<=>(const NpuAddress&, const NpuAddress&) = default;
};

// What does not change while the driver runs.
struct NpuIdentity {
  Field<std::uint32_t> logic_id;
  Field<std::uint32_t> phy_id;   // the N of /dev/davinciN
  Field<std::string> chip_type;  // "Ascend"
  Field<std::string> chip_name;  // "910B4", "310P3"
  Field<std::string> chip_version;
  Field<std::uint32_t> aicore_count;
  Field<std::uint32_t> board_id;
  Field<std::uint32_t> slot_id;
  Field<std::string> pcie_address;  // "0000:C1:00.0"
  Field<std::string> uuid;          // the VDIE number, five groups of eight hex digits
  Field<std::string> mcu_version;   // of the board's controller
};

struct ProcessUse {
  std::int32_t pid = 0;  // host pid
  std::uint64_t bytes = 0;
};

// What changes from one look to the next.
struct NpuTelemetry {
  Field<std::uint32_t> health;  // 0 fine .. 3 critical, abi::kHealthAbsent
  Field<std::vector<std::uint32_t>> error_codes;
  Field<std::uint64_t> memory_total_bytes;
  Field<std::uint64_t> memory_used_bytes;
  Field<std::uint32_t> aicore_percent;
  Field<std::int32_t> temperature_celsius;
  Field<std::int32_t> power_tenth_watts;
  Field<std::vector<ProcessUse>> processes;
};

// Counts in thousandths: the driver counts in fractions.
struct ResourceReading {
  Field<std::uint32_t> ai_cores_milli;
  Field<std::uint64_t> memory_bytes;
  Field<std::uint32_t> ai_cpus;
  Field<std::uint32_t> vpc_milli;
  Field<std::uint32_t> venc_milli;
  Field<std::uint32_t> vdec_milli;
  Field<std::uint32_t> jpegd_milli;
  Field<std::uint32_t> jpege_milli;
  Field<std::uint32_t> pngd_milli;
};

struct VnpuReading {
  std::uint32_t id = 0;
  Field<std::string> template_name;
  Field<bool> container_used;
  Field<std::uint64_t> container_id;
  Field<std::uint32_t> vgroup_id;
  ResourceReading resources;
  Field<std::uint64_t> memory_usable_bytes;
  Field<std::uint64_t> memory_used_bytes;
  Field<std::uint32_t> aicore_percent;
};

// How one NPU is cut.
struct NpuSlicing {
  Field<std::vector<VnpuReading>> vnpus;  // ascending by id
  ResourceReading total;
  ResourceReading free;
  Field<bool> device_share;
};

// Settings of the whole machine.
struct HostModes {
  Field<bool> slices_recover;  // vNPUs are cut again after a reboot
  Field<bool> for_containers;  // false: for virtual machines
  RecoverFile recover_file;    // without its path
};

struct EventReading {
  std::uint32_t code = 0;
  std::uint32_t logic_id = 0;
  std::uint8_t severity = 0;
  std::uint8_t assertion = 0;  // 0 recovered, 1 occurred, 2 once
  std::uint64_t raised_at_ms = 0;
  std::string name;
};

}  // namespace tangram::device

// What the helper process reports about the machine, as plain values. Nothing here is trusted blindly: the
// helper maps vendor code, so the daemon decodes its answers with bounds (see helper_protocol.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace tangram::device

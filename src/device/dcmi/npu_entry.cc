#include "device/dcmi/npu_entry.h"

#include <cstdio>

#include "base/invariant.h"
#include "device/dcmi/abi.h"
#include "device/dcmi/codes.h"

namespace tangram::device {
namespace {

constexpr std::size_t kNoteCodesMax = 8;

Health health_of(const Field<std::uint32_t>& health) {
  if (!health.valid) {
    const bool gone = health.code == abi::kNotReady || health.code == abi::kDeviceNotExist ||
                      health.code == abi::kInvalidDevice;
    return gone ? Health::kAbsent : Health::kUnknown;
  }
  switch (health.value) {
    case 0:
      return Health::kOk;
    case 1:
      return Health::kWarning;
    case 2:
      return Health::kAlarm;
    case 3:
      return Health::kCritical;
    case abi::kHealthAbsent:
      return Health::kAbsent;
    default:
      return Health::kUnknown;
  }
}

std::string codes_note(const Field<std::vector<std::uint32_t>>& codes) {
  if (!codes.valid || codes.value.empty()) return "the device names no error code";
  std::string note = codes.value.size() == 1 ? "error code" : "error codes";
  for (std::size_t i = 0; i < codes.value.size() && i < kNoteCodesMax; ++i) {
    char text[16];
    std::snprintf(text, sizeof text, " %08X", codes.value[i]);
    note += text;
  }
  if (codes.value.size() > kNoteCodesMax) {
    note += " and " + std::to_string(codes.value.size() - kNoteCodesMax) + " more";
  }
  return note;
}

std::string note_of(const NpuTelemetry& telemetry, Health health) {
  if (!telemetry.health.valid) return failure_text("dcmi_get_device_health", telemetry.health.code);
  switch (health) {
    case Health::kOk:
      return "";
    case Health::kAbsent:
      return "the device is absent or has not started";
    case Health::kUnknown:
    case Health::kWarning:
    case Health::kAlarm:
    case Health::kCritical:
      break;
  }
  return codes_note(telemetry.error_codes);
}

using Time = std::chrono::steady_clock::time_point;

template <class To, class From>
Sample<To> sample_of(const Field<From>& field, Time at) {
  if (!field.valid) return {};
  return Sample<To>::known(static_cast<To>(field.value), at);
}

Sample<Bytes> bytes_of(const Field<std::uint64_t>& field, Time at) {
  if (!field.valid) return {};
  return Sample<Bytes>::known(Bytes(static_cast<std::int64_t>(field.value)), at);
}

}  // namespace

DeviceNpu entry_of(NpuAddress at, const NpuIdentity& identity) {
  TG_ASSERT(identity.phy_id.valid, "an NPU without a physical id cannot be an entry");
  DeviceNpu entry;
  entry.card_id = at.card;
  entry.chip_id = at.device;
  entry.logic_id = identity.logic_id.valid ? static_cast<std::int32_t>(identity.logic_id.value) : -1;
  entry.physical_id = identity.phy_id.value;
  entry.chip = identity.chip_name.value;
  entry.board_id = {identity.board_id.value, identity.board_id.valid};
  entry.mcu_version = identity.mcu_version.value;
  if (identity.aicore_count.valid) {
    entry.ai_cores = Sample<std::int32_t>::known(static_cast<std::int32_t>(identity.aicore_count.value));
  }
  return entry;
}

void fill_health(const NpuTelemetry& telemetry, DeviceNpu& entry) {
  entry.health = health_of(telemetry.health);
  entry.health_note = note_of(telemetry, entry.health);
}

void fill_use(const NpuTelemetry& telemetry, Time at, DeviceNpu& entry) {
  entry.memory_total = bytes_of(telemetry.memory_total_bytes, at);
  entry.memory_used = bytes_of(telemetry.memory_used_bytes, at);
  entry.ai_core_percent = sample_of<std::int32_t>(telemetry.aicore_percent, at);
  entry.temperature_celsius = sample_of<std::int32_t>(telemetry.temperature_celsius, at);
  entry.power_milliwatt = sample_of<std::int32_t>(telemetry.power_tenth_watts, at);
  entry.power_milliwatt.value *= 100;
  entry.processes.valid = telemetry.processes.valid;
  entry.processes.at = at;
  entry.processes.value.clear();
  for (const ProcessUse& use : telemetry.processes.value) {
    entry.processes.value.push_back({use.pid, Bytes(static_cast<std::int64_t>(use.bytes))});
  }
}

bool is_driver_lost(const NpuTelemetry& telemetry) {
  if (telemetry.health.valid) return telemetry.health.value == abi::kHealthAbsent;
  return telemetry.health.code != kCodeSymbolMissing && telemetry.health.code != kCodeImplausible &&
         telemetry.health.code != abi::kNotSupported;
}

}  // namespace tangram::device

#include "device/dcmi/plausible.h"

#include <algorithm>
#include <string>
#include <vector>

#include "device/dcmi/abi.h"
#include "device/dcmi/abi_vnpu.h"

namespace tangram::device {
namespace {

// A field that is not known has no value either.
template <class T, class Test>
void keep_if(Field<T>& field, Test is_plausible) {
  if (!field.valid) {
    field = Field<T>::unknown(field.code);
  } else if (!is_plausible(field.value)) {
    field = Field<T>::unknown(kCodeImplausible);
  } else {
    field.code = 0;
  }
}

template <class T>
bool is_any(const T& /*value*/) {
  return true;
}

void drop_implausible(ResourceReading& resources) {
  keep_if(resources.ai_cores_milli, [](std::uint32_t milli) { return milli <= kAiCoresMax * kMilli; });
  keep_if(resources.memory_bytes, [](std::uint64_t bytes) { return bytes <= kMemoryBytesMax; });
  keep_if(resources.ai_cpus, [](std::uint32_t count) { return count <= kAiCpusMax; });
  for (Field<std::uint32_t>* const engine :
       {&resources.vpc_milli, &resources.venc_milli, &resources.vdec_milli, &resources.jpegd_milli,
        &resources.jpege_milli, &resources.pngd_milli}) {
    keep_if(*engine, [](std::uint32_t milli) { return milli <= kEngineUnitsMax * kMilli; });
  }
}

void drop_implausible(VnpuReading& vnpu) {
  keep_if(vnpu.template_name, is_template_name);
  keep_if(vnpu.container_used, is_any<bool>);
  keep_if(vnpu.container_id, is_any<std::uint64_t>);
  keep_if(vnpu.vgroup_id, [](std::uint32_t id) { return id < kVgroupsMax; });
  drop_implausible(vnpu.resources);
  keep_if(vnpu.memory_usable_bytes,
          [](std::uint64_t bytes) { return bytes > 0 && bytes <= kMemoryBytesMax; });
  const std::uint64_t usable =
      vnpu.memory_usable_bytes.valid ? vnpu.memory_usable_bytes.value : kMemoryBytesMax;
  keep_if(vnpu.memory_used_bytes, [usable](std::uint64_t bytes) { return bytes <= usable; });
  keep_if(vnpu.aicore_percent, [](std::uint32_t percent) { return percent <= kPercentMax; });
}

}  // namespace

bool is_plausible_health(std::uint32_t health) {
  return health <= 3 || health == abi::kHealthAbsent;
}

bool is_chip_text(std::string_view text) {
  return !text.empty() && text.size() <= kChipTextBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_vnpu_id(std::uint32_t id) {
  return id >= abi::kVnpuIdMin && id <= abi::kVnpuIdMax;
}

bool is_template_name(std::string_view name) {
  return !name.empty() && name.size() <= abi::kTemplateNameMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

void make_printable(std::string& text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
}

void drop_implausible(NpuIdentity& identity) {
  for (Field<std::uint32_t>* const id : {&identity.logic_id, &identity.phy_id}) {
    keep_if(*id, [](std::uint32_t value) { return value <= kPhyIdMax; });
  }
  for (Field<std::string>* const text : {&identity.chip_type, &identity.chip_name, &identity.chip_version,
                                         &identity.pcie_address, &identity.uuid, &identity.mcu_version}) {
    keep_if(*text, is_chip_text);
  }
  keep_if(identity.aicore_count, [](std::uint32_t value) { return value > 0 && value <= kAiCoresMax; });
  keep_if(identity.board_id, is_any<std::uint32_t>);
  keep_if(identity.slot_id, is_any<std::uint32_t>);
}

void drop_implausible(NpuTelemetry& telemetry) {
  keep_if(telemetry.health, is_plausible_health);
  keep_if(telemetry.error_codes, [](const std::vector<std::uint32_t>& codes) {
    return codes.size() <= static_cast<std::size_t>(abi::kErrorCodesMax);
  });
  keep_if(telemetry.memory_total_bytes,
          [](std::uint64_t bytes) { return bytes > 0 && bytes <= kMemoryBytesMax; });
  const std::uint64_t total =
      telemetry.memory_total_bytes.valid ? telemetry.memory_total_bytes.value : kMemoryBytesMax;
  keep_if(telemetry.memory_used_bytes, [total](std::uint64_t bytes) { return bytes <= total; });
  keep_if(telemetry.aicore_percent, [](std::uint32_t percent) { return percent <= kPercentMax; });
  keep_if(telemetry.temperature_celsius,
          [](std::int32_t celsius) { return celsius >= kCelsiusMin && celsius <= kCelsiusMax; });
  keep_if(telemetry.power_tenth_watts,
          [](std::int32_t tenths) { return tenths >= 0 && tenths <= kTenthWattsMax; });
  keep_if(telemetry.processes, [](const std::vector<ProcessUse>& uses) {
    return uses.size() <= static_cast<std::size_t>(abi::kProcessesMax);
  });
  std::erase_if(telemetry.processes.value,
                [](const ProcessUse& use) { return use.pid <= 0 || use.bytes > kMemoryBytesMax; });
}

void drop_implausible(NpuSlicing& slicing) {
  keep_if(slicing.vnpus, [](const std::vector<VnpuReading>& vnpus) {
    return vnpus.size() <= abi::kVnpusListedMax &&
           std::all_of(vnpus.begin(), vnpus.end(),
                       [](const VnpuReading& vnpu) { return is_vnpu_id(vnpu.id); });
  });
  for (VnpuReading& vnpu : slicing.vnpus.value) drop_implausible(vnpu);
  drop_implausible(slicing.total);
  drop_implausible(slicing.free);
  keep_if(slicing.device_share, is_any<bool>);
}

void drop_implausible(HostModes& modes) {
  keep_if(modes.slices_recover, is_any<bool>);
  keep_if(modes.for_containers, is_any<bool>);
  make_printable(modes.recover_file.why);
}

void drop_implausible(Field<std::vector<EventReading>>& events) {
  keep_if(events, is_any<std::vector<EventReading>>);
  std::erase_if(events.value, [](const EventReading& event) {
    return event.severity > kSeverityMax || event.assertion > kAssertionMax ||
           event.name.size() > kEventNameBytesMax;
  });
  for (EventReading& event : events.value) make_printable(event.name);
}

}  // namespace tangram::device

#include "device/dcmi/slice_entry.h"

#include "device/dcmi/abi.h"
#include "device/dcmi/codes.h"

namespace tangram::device {
namespace {

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

SliceResources resources_of(const ResourceReading& reading, Time at) {
  SliceResources out;
  out.ai_cores_milli = sample_of<std::int32_t>(reading.ai_cores_milli, at);
  out.memory = bytes_of(reading.memory_bytes, at);
  out.ai_cpus = sample_of<std::int32_t>(reading.ai_cpus, at);
  out.vpc_milli = sample_of<std::int32_t>(reading.vpc_milli, at);
  out.venc_milli = sample_of<std::int32_t>(reading.venc_milli, at);
  out.vdec_milli = sample_of<std::int32_t>(reading.vdec_milli, at);
  out.jpegd_milli = sample_of<std::int32_t>(reading.jpegd_milli, at);
  out.jpege_milli = sample_of<std::int32_t>(reading.jpege_milli, at);
  out.pngd_milli = sample_of<std::int32_t>(reading.pngd_milli, at);
  return out;
}

}  // namespace

DeviceSlice slice_of(const VnpuReading& reading, Time at) {
  DeviceSlice slice;
  slice.id = reading.id;
  slice.template_name = sample_of<std::string>(reading.template_name, at);
  slice.container_used = sample_of<bool>(reading.container_used, at);
  slice.container_id = sample_of<std::uint64_t>(reading.container_id, at);
  slice.vgroup_id = sample_of<std::uint32_t>(reading.vgroup_id, at);
  slice.resources = resources_of(reading.resources, at);
  slice.memory_usable = bytes_of(reading.memory_usable_bytes, at);
  slice.memory_used = bytes_of(reading.memory_used_bytes, at);
  slice.ai_core_percent = sample_of<std::int32_t>(reading.aicore_percent, at);
  return slice;
}

DeviceSlicing slicing_of(const NpuSlicing& reading, Time at) {
  DeviceSlicing slicing;
  if (reading.vnpus.valid) {
    slicing.slices.valid = true;
    slicing.slices.at = at;
    for (const VnpuReading& vnpu : reading.vnpus.value) slicing.slices.value.push_back(slice_of(vnpu, at));
  } else {
    slicing.note = failure_text("the call for the slices (dcmi_get_device_info)", reading.vnpus.code);
  }
  slicing.total = resources_of(reading.total, at);
  slicing.free = resources_of(reading.free, at);
  slicing.device_share = sample_of<bool>(reading.device_share, at);
  return slicing;
}

DeviceEvent event_of(const EventReading& reading, std::uint32_t physical_id) {
  DeviceEvent event;
  event.physical_id = physical_id;
  event.code = reading.code;
  event.severity = reading.severity;
  event.kind = reading.assertion == 0   ? DeviceEvent::Kind::kRecovered
               : reading.assertion == 1 ? DeviceEvent::Kind::kOccurred
                                        : DeviceEvent::Kind::kOnce;
  event.name = reading.name;
  event.raised_at_ms = reading.raised_at_ms;
  return event;
}

bool is_unsupported(std::int32_t code) {
  return code == kCodeSymbolMissing || code == abi::kNotSupported;
}

}  // namespace tangram::device

// From what the vendor's library answered about vNPUs to what the service sees. Pure.
#pragma once

#include <chrono>
#include <string>

#include "device/dcmi/reading.h"
#include "ports/devices.h"

namespace tangram::device {

// All but the support table's word. `at`: when the answer came.
DeviceSlicing slicing_of(const NpuSlicing& reading, std::chrono::steady_clock::time_point at);
DeviceSlice slice_of(const VnpuReading& reading, std::chrono::steady_clock::time_point at);

DeviceEvent event_of(const EventReading& reading, std::uint32_t physical_id);

// True if the driver or the library says that it does not do such things, and not that it failed.
bool is_unsupported(std::int32_t code);

}  // namespace tangram::device

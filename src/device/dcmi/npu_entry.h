// From what the vendor's library answered to what the service sees. Pure.
#pragma once

#include <chrono>
#include <string>

#include "device/dcmi/reading.h"
#include "ports/devices.h"

namespace tangram::device {

// The parts of an entry that do not change: ids, chip, AI cores, what the support table says of its board.
// Needs a valid phy_id.
DeviceNpu entry_of(NpuAddress at, const NpuIdentity& identity);

// Of an answer about the health. One that is not ok, or not known, comes with a note that says why.
void fill_health(const NpuTelemetry& telemetry, DeviceNpu& entry);

// Of an answer about the use. `at`: when it came.
void fill_use(const NpuTelemetry& telemetry, std::chrono::steady_clock::time_point at, DeviceNpu& entry);

// True if the whole answer says that the driver behind the library is gone, and not merely one reading.
bool is_driver_lost(const NpuTelemetry& telemetry);

}  // namespace tangram::device

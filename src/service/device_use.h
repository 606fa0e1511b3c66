// What jobs really use of the NPUs that they hold, from what the devices say of each process. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "ports/devices.h"
#include "service/views.h"

namespace tangram::service {

// Device memory of the job's own processes on that NPU. None: not known, because the driver does not list the
// processes, or because it cannot be told whose they are.
std::optional<Bytes> memory_used_by(const DeviceReadings& readings, std::uint32_t physical_id,
                                    const std::string& job);

}  // namespace tangram::service

// What jobs really use of the NPUs that they hold, from what the devices say of each process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ports/devices.h"
#include "ports/executor.h"
#include "service/views.h"

namespace tangram::service {

// Device memory of the job's own processes on that NPU. None: not known, because the driver does not list the
// processes, or because it cannot be told whose they are.
std::optional<Bytes> memory_used_by(const DeviceReadings& readings, std::uint32_t physical_id,
                                    const std::string& job);

// Takes into DeviceReadings::idle_use what this look shows of it.
void note_idle_use(DeviceReadings& readings);

// What a program finds that has the whole of that NPU: its memory without what the device's own system takes,
// in whole MiB. None: not known; so of an NPU that is cut, and where the driver does not list processes.
std::optional<Bytes> usable_whole(const DeviceReadings& readings, std::uint32_t physical_id);

// The attempts to which the processes on the devices belong, by pid; those of nobody are left out. None: that
// cannot be told here. Asks the executor.
std::optional<std::map<std::int64_t, AttemptKey>> find_owners(const Executor& executor,
                                                              const std::vector<DeviceNpu>& npus);

}  // namespace tangram::service

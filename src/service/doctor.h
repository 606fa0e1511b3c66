// What is wrong with this machine, from the last look at the devices, the state and the walls between
// tenants. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "service/device_access.h"
#include "service/views.h"
#include "wire/doctor.h"

namespace tangram::service {

// What the executor says of the machine.
struct MachineWalls {
  std::vector<std::string> missing;
  bool private_devices = true;  // a job has a /dev of its own
  std::vector<ClosedDevice> closed_devices = {};
  uid_t closed_to = 0;  // the user who cannot open them
};

// What the daemon itself is short of.
struct DaemonTroubles {
  std::optional<Error> journal;  // why it takes no records
};

// Of a finding: an NPU is otherwise than its chip is described.
inline constexpr std::string_view kCatalogueDiffers = "doctor.catalogue";

wire::DoctorView make_diagnosis(const State& state, const Options& options, const DeviceReadings& readings,
                                const MachineWalls& walls, const DaemonTroubles& troubles,
                                wire::Language language);

}  // namespace tangram::service

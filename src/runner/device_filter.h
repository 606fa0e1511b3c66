// Which device nodes a job may open, told to the kernel: the v1 devices controller, or a BPF program on a v2
// group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tangram::runner {

struct DeviceNumber {
  static constexpr std::uint32_t kAnyMinor = 0xffffffff;

  std::uint32_t major = 0;
  std::uint32_t minor = 0;

  friend bool operator==(const DeviceNumber&, const DeviceNumber&) = default;
};

// null, zero, full, random, urandom, tty, ptmx and the pseudo terminals: what every job may open.
const std::vector<DeviceNumber>& standard_devices();

// "c 1:3 rw", for devices.allow.
std::string v1_rule(DeviceNumber device);

// Attaches a filter to the v2 group at `path` that allows `devices` (character devices) and nothing else.
// Fails where the kernel has no such programs or does not let us load one.
Result<void> attach_device_filter(const std::string& path, const std::vector<DeviceNumber>& devices);

}  // namespace tangram::runner

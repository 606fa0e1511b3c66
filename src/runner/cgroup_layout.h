// Which control group hierarchies this machine has and where our own group is in each: v1, v2, or both
// (hybrid).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tangram::runner {

// What a job needs from control groups. Bits of a set.
enum class Controller : std::uint8_t { kCpu = 1, kMemory = 2, kPids = 4, kDevices = 8, kFreezer = 16 };

using ControllerSet = std::uint8_t;

constexpr bool has(ControllerSet set, Controller controller) {
  return (set & static_cast<ControllerSet>(controller)) != 0;
}

std::string_view to_string(Controller controller);  // "cpu", as the kernel spells it

// One mounted hierarchy.
struct Hierarchy {
  std::string mount_point;        // "/sys/fs/cgroup/memory"
  std::string own_dir;            // the group of this process: below mount_point, or the mount point itself
  ControllerSet controllers = 0;  // v1 only: what is mounted here
  bool unified = false;           // v2

  friend bool operator==(const Hierarchy&, const Hierarchy&) = default;
};

// Reads the texts of /proc/self/mountinfo and /proc/self/cgroup (proc(5), cgroups(7)). Hierarchies without
// a controller that we use are left out. `prefix` is put before each mount point: the root of a fixture tree.
std::vector<Hierarchy> parse_cgroup_layout(std::string_view mountinfo, std::string_view self_cgroup,
                                           const std::string& prefix = "");

// The same from this process's own files.
Result<std::vector<Hierarchy>> detect_cgroup_layout();

}  // namespace tangram::runner

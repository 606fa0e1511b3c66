// The control groups of attempts: one parent group for all of them, one leaf `<job>.<attempt>` for each, in
// every hierarchy that is needed. Limits sit where their controller is (v1 or v2); the kill is v2's where
// there is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "ports/executor.h"
#include "runner/cgroup_layout.h"
#include "runner/device_filter.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

// A directory in one hierarchy, and what is to be controlled there.
struct CgroupDir {
  std::string path;
  ControllerSet controllers = 0;
  bool unified = false;

  friend bool operator==(const CgroupDir&, const CgroupDir&) = default;
};

// The parent group. Immutable after open(), hence thread-safe.
class CgroupParent {
 public:
  // Creates the parent group in each hierarchy. `name` without a leading slash lies below our own group, with
  // one below the root of the mount. Never fails: what cannot be had is left out and named by missing().
  // Where v2 forbids processes in a group with controllers, the own processes move to `<own>/<name>-daemon`.
  static CgroupParent open(const std::vector<Hierarchy>& layout, const std::string& name);

  // The directories of an attempt. Hierarchies whose controllers the limits do not need are left out.
  std::vector<CgroupDir> leaf(const AttemptKey& key, const HostLimits& limits) const;

  // Walls that are missing, one sentence each.
  const std::vector<std::string>& missing() const { return missing_; }

  bool can_filter_devices() const;

  // Keeps other daemons from this parent group as long as the result lives: their attempts would have the
  // same names. Error: kFailedPrecondition "runner.cgroup.in_use".
  Result<std::vector<UniqueFd>> claim() const;

  // The directories of the parent group, one for each hierarchy.
  std::vector<std::string> paths() const;

 private:
  std::vector<CgroupDir> dirs_;
  std::vector<std::string> missing_;
};

// The groups of one attempt. Not thread-safe. All operations may be repeated.
class Cgroup {
 public:
  explicit Cgroup(std::vector<CgroupDir> dirs) : dirs_(std::move(dirs)) {}

  // Makes the directories and writes the limits. Leftovers of an older attempt of that name are killed and
  // removed first. On failure nothing is left behind.
  Result<void> create(const HostLimits& limits, const std::vector<DeviceNumber>& devices,
                      bool filter_devices);

  // The files to which a process writes "0" to join.
  std::vector<std::string> join_files() const;

  // SIGKILL to every member, at once where the kernel can (cgroup.kill), else frozen first. Not waited for.
  void kill_all() const;

  // No living member in any hierarchy. A directory that does not exist is empty.
  bool empty() const;

  // How often the memory limit has killed a member; 0 when unknown.
  std::int64_t out_of_memory_kills() const;

  // Removes the directories; false while one of them still has members.
  bool remove() const;

  const std::vector<CgroupDir>& dirs() const { return dirs_; }

 private:
  std::vector<CgroupDir> dirs_;
};

}  // namespace tangram::runner

#include "runner/walls.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "runner/files.h"
#include "runner/spawn.h"

namespace tangram::runner {
namespace {

Result<std::string> probe_namespaces_of(const ProcessExecutorConfig& config) {
  TG_TRY(Spawned spawned, spawn_supervisor(config.supervisor, "--probe", "", UniqueFd()));
  Result<std::string> answer = wait_for_packet(spawned.connection, config.ready_timeout_ms);
  kill_spawned(spawned);
  return answer;
}

Result<void> make_mount_targets(const ProcessExecutorConfig& config) {
  for (const BindMount& mount : config.mounts) {
    struct stat info{};
    if (stat(mount.source.c_str(), &info) != 0)
      return fail(system_error("cannot find " + mount.source, errno));
    if (access(mount.target.c_str(), F_OK) == 0) continue;
    const std::string parent =
        S_ISDIR(info.st_mode) ? mount.target : mount.target.substr(0, mount.target.rfind('/'));
    TG_TRY_VOID(make_directories(parent, 0755));
  }
  return {};
}

// A group of its own for the try, because a filter cannot be taken off again.
Result<void> try_device_filter(const CgroupParent& parent) {
  Cgroup probe(parent.leaf({"probe-" + std::to_string(getpid()), 1}, HostLimits()));
  const Result<void> made = probe.create(HostLimits(), standard_devices(), true);
  probe.remove();
  return made;
}

}  // namespace

Result<MachineWalls> find_walls(const ProcessExecutorConfig& config) {
  MachineWalls found;
  std::vector<Hierarchy> layout;
  if (config.cgroup_layout) {
    layout = *config.cgroup_layout;
  } else {
    TG_TRY(layout, detect_cgroup_layout());
  }
  found.cgroups = CgroupParent::open(layout, config.cgroup_parent);
  TG_TRY(const std::string namespaces, probe_namespaces_of(config));
  found.walls.user = geteuid() == 0;
  found.walls.namespaces = namespaces == "ok";
  if (!found.walls.user) {
    found.missing.push_back("no root: all jobs run as user id " + std::to_string(geteuid()) +
                            ", so that tenants can signal, trace and read each other's");
  }
  if (!found.walls.namespaces) {
    found.missing.push_back("no namespaces (" + namespaces +
                            "): jobs see each other's processes, /tmp, shared memory and all device nodes");
  } else {
    TG_TRY_VOID(make_mount_targets(config));
  }
  if (!found.cgroups.can_filter_devices()) {
    found.missing.emplace_back(
        "no control group for devices: only the job's own /dev keeps it from other NPUs");
  } else if (const Result<void> filter = try_device_filter(found.cgroups); !filter) {
    found.missing.push_back("no device filter (" + filter.error().to_string() +
                            "): only the job's own /dev keeps it from other NPUs");
  } else {
    found.walls.device_filter = true;
  }
  for (const std::string& sentence : found.cgroups.missing()) found.missing.push_back(sentence);
  return found;
}

}  // namespace tangram::runner

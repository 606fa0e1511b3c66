#include "runner/launch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/crash_point.h"
#include "runner/attempt_dir.h"
#include "runner/control.h"
#include "runner/files.h"
#include "runner/remove_tree.h"

namespace tangram::runner {
namespace {

Result<Spawned> spawn_and_wait(const ProcessExecutorConfig& config, const MachineWalls& walls,
                               const LaunchSpec& spec, const AttemptDir& dir) {
  SuperviseSpec supervise;
  supervise.launch = spec;
  supervise.dir = dir.path;
  supervise.cgroup = walls.cgroups.leaf(spec.key, spec.limits);
  supervise.walls = walls.walls;
  supervise.device_dir = config.device_dir;
  supervise.mounts = config.mounts;
  supervise.hidden_paths = config.hidden_paths;
  supervise.hidden_paths.push_back(config.root);
  // The job has a /dev of its own; the nodes of others must not be at hand at another place either.
  if (config.device_dir != "/dev") supervise.hidden_paths.push_back(config.device_dir);
  // What other jobs use and how they are called is readable there.
  for (const std::string& path : walls.cgroups.paths()) supervise.hidden_paths.push_back(path);
  // Taken here and inherited, so that a successor of this daemon never finds it free while a supervisor
  // starts.
  TG_TRY(const std::optional<UniqueFd> lock, try_lock(dir.lock()));
  if (!lock) {
    return fail(Code::kAlreadyExists, "runner.lock.held", dir.lock() + " is held by another supervisor");
  }
  TG_CRASH_POINT("runner.before_spawn");
  TG_TRY(Spawned spawned, spawn_supervisor(config.supervisor, "", encode(supervise), *lock));
  TG_CRASH_POINT("runner.after_spawn");
  Result<std::string> ready = wait_for_packet(spawned.connection, config.ready_timeout_ms);
  if (ready && *ready == kStateWaiting) return spawned;
  kill_spawned(spawned);
  Cgroup(supervise.cgroup).remove();
  if (!ready) {
    Error error = std::move(ready).error();
    if (error.reason == "runner.supervisor.gone") error.code = Code::kAborted;
    return fail(std::move(error));
  }
  return fail(failed_error(*ready));
}

}  // namespace

Result<Spawned> launch_supervisor(const ProcessExecutorConfig& config, const MachineWalls& walls,
                                  const LaunchSpec& spec) {
  const AttemptDir dir = attempt_dir(config.root, spec.key);
  const std::string job_dir = config.root + "/jobs/" + spec.key.job;
  // Also the one above, which somebody may have removed: that must not cost every job of the queue its start.
  TG_TRY_VOID(make_directory(config.root + "/jobs", 0711));
  TG_TRY_VOID(make_directory(job_dir, 0711));
  if (mkdir(dir.path.c_str(), 0711) != 0) return fail(system_error("cannot create " + dir.path, errno));
  Result<Spawned> spawned = spawn_and_wait(config, walls, spec, dir);
  if (spawned) return spawned;
  (void)remove_tree(dir.path);
  rmdir(job_dir.c_str());
  return spawned;
}

}  // namespace tangram::runner

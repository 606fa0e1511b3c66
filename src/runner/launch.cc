#include "runner/launch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

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

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// What a try left whose own clearing up failed too, for want of the same thing (a descriptor, room): nothing
// of the job was ever let go there. Anything else that stands at the place is kAlreadyExists.
Result<void> remove_failed_try(const AttemptDir& dir) {
  if (exists(dir.started()) || exists(dir.exit_record())) {
    return fail(system_error("cannot create " + dir.path, EEXIST));
  }
  TG_TRY(const std::optional<UniqueFd> lock, try_lock(dir.lock()));
  if (!lock) {
    return fail(Code::kAlreadyExists, "runner.lock.held", dir.lock() + " is held by another supervisor");
  }
  return remove_tree(dir.path);
}

Result<void> make_attempt_directory(const AttemptDir& dir) {
  if (mkdir(dir.path.c_str(), 0711) == 0) return {};
  if (errno != EEXIST) return fail(system_error("cannot create " + dir.path, errno));
  TG_TRY_VOID(remove_failed_try(dir));
  if (mkdir(dir.path.c_str(), 0711) == 0) return {};
  return fail(system_error("cannot create " + dir.path, errno));
}

}  // namespace

void discard_launch(const ProcessExecutorConfig& config, const AttemptKey& key, Spawned& spawned) {
  kill_spawned(spawned);
  // What cannot be removed now is, by the next try.
  (void)remove_tree(attempt_dir(config.root, key).path);
  rmdir((config.root + "/jobs/" + key.job).c_str());
}

Result<Spawned> launch_supervisor(const ProcessExecutorConfig& config, const MachineWalls& walls,
                                  const LaunchSpec& spec) {
  const AttemptDir dir = attempt_dir(config.root, spec.key);
  const std::string job_dir = config.root + "/jobs/" + spec.key.job;
  // Also the one above, which somebody may have removed: that must not cost every job of the queue its start.
  TG_TRY_VOID(make_directory(config.root + "/jobs", 0711));
  TG_TRY_VOID(make_directory(job_dir, 0711));
  TG_TRY_VOID(make_attempt_directory(dir));
  Result<Spawned> spawned = spawn_and_wait(config, walls, spec, dir);
  if (spawned) return spawned;
  Spawned none;
  discard_launch(config, spec.key, none);
  return spawned;
}

}  // namespace tangram::runner

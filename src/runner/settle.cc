#include "runner/settle.h"

#include <unistd.h>

#include "base/log.h"
#include "runner/files.h"

namespace tangram::runner {
namespace {

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

AttemptExit lost_record(const AttemptDir& dir, const AttemptKey& key,
                        const std::optional<SupervisorIdentity>& identity, const std::string& boot_id,
                        bool is_damaged = false) {
  AttemptExit record;
  record.key = key;
  // Without its directory only the identity tells that there was once a supervisor.
  const bool removed = !exists(dir.path);
  const bool may_have_started = removed ? identity.has_value() : exists(dir.started());
  if (identity && identity->boot_id != boot_id) {
    record.message = "the machine was restarted: what became of it is unknown";
  } else if (may_have_started && removed) {
    record.message = "its directory was removed: what became of it is unknown";
  } else if (may_have_started && is_damaged) {
    record.message = "the record of its end is damaged: what became of it is unknown";
  } else if (may_have_started) {
    record.message =
        "its supervisor was killed: what became of it is unknown, and all its processes were ended";
  } else {
    record.outcome = Outcome::kNotStarted;
    record.message = "its supervisor went away before it let the job start";
    record.released = false;
  }
  return record;
}

// Init's lock tells of processes that no control group holds.
bool ended_everything(const AttemptDir& dir, const Cgroup& cgroup) {
  const Result<std::optional<UniqueFd>> init_lock = try_lock(dir.init_lock());
  if (init_lock && init_lock->has_value() && cgroup.empty()) return true;
  cgroup.kill_all();
  return false;
}

}  // namespace

Result<std::optional<AttemptExit>> settle_attempt(const AttemptDir& dir, const AttemptKey& key,
                                                  const std::optional<SupervisorIdentity>& identity,
                                                  const std::string& boot_id) {
  if (!exists(dir.path)) return std::optional(lost_record(dir, key, identity, boot_id));
  const Result<std::vector<CgroupDir>> groups = read_cgroup_list(dir, key);
  const Cgroup cgroup(groups ? *groups : std::vector<CgroupDir>());
  const Result<std::optional<AttemptExit>> found = read_exit_record(dir, key);
  // A machine without descriptors for a moment says nothing of what stands there.
  for (const Error* error : {groups ? nullptr : &groups.error(), found ? nullptr : &found.error()}) {
    if (error != nullptr && error->code == Code::kResourceExhausted) return fail(*error);
  }
  std::optional<AttemptExit> known = found ? *found : std::nullopt;
  if (known) {
    cgroup.remove();
    if (known->outcome == Outcome::kNotStarted) known->released = exists(dir.started());
    return known;
  }
  if (!found) log::warn(found.error().to_string());
  if (!ended_everything(dir, cgroup)) return std::optional<AttemptExit>();
  const bool is_damaged = !found && found.error().code == Code::kDataLoss;
  AttemptExit record = lost_record(dir, key, identity, boot_id, is_damaged);
  TG_TRY_VOID(write_exit_record(dir, record));
  cgroup.remove();
  return std::optional(std::move(record));
}

bool attempt_may_live(const AttemptDir& dir, const AttemptKey& key) {
  if (!exists(dir.path)) return false;
  for (const std::string& path : {dir.lock(), dir.init_lock()}) {
    const Result<std::optional<UniqueFd>> lock = try_lock(path);
    if (!lock || !lock->has_value()) return true;
  }
  const Result<std::vector<CgroupDir>> groups = read_cgroup_list(dir, key);
  return !groups || !Cgroup(*groups).empty();
}

}  // namespace tangram::runner

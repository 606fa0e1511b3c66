// The directory of one attempt, `<root>/jobs/<job>/<attempt>/`:
//
//   lock          held by the supervisor as long as it lives
//   init.lock     held by the job's init process: free means that no process of the job lives on without it
//   control.sock  where the supervisor answers: see control.h
//   cgroup        one line for each control group directory, written before the first of them is made
//   started       exists once `go` was received
//   log           output of the job, bounded: see log_file.h
//   exit.json     the exit record
//   work/         the job's own directory
//   tmp/          its place for temporary files, where it has no /tmp of its own
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/executor.h"
#include "runner/cgroup.h"

namespace tangram::runner {

struct AttemptDir {
  std::string path;

  std::string lock() const { return path + "/lock"; }
  std::string init_lock() const { return path + "/init.lock"; }
  std::string control() const { return path + "/control.sock"; }
  std::string cgroup() const { return path + "/cgroup"; }
  std::string started() const { return path + "/started"; }
  std::string log() const { return path + "/log"; }
  std::string exit_record() const { return path + "/exit.json"; }
  std::string work() const { return path + "/work"; }
  std::string tmp() const { return path + "/tmp"; }
};

// "j-17" and 2 of <root>/jobs/j-17/2.
AttemptDir attempt_dir(const std::string& root, const AttemptKey& key);

// kInvalidArgument unless the job's key is 1 to 64 of [a-z0-9-] and the attempt is at least 1.
Result<void> check_key(const AttemptKey& key);

// Durable when it returns: temporary file, fsync, rename, fsync of the directory.
Result<void> write_exit_record(const AttemptDir& dir, const AttemptExit& record);

// nullopt where there is none. A record that cannot be read is kDataLoss.
Result<std::optional<AttemptExit>> read_exit_record(const AttemptDir& dir, const AttemptKey& key);

Result<void> write_cgroup_list(const AttemptDir& dir, const std::vector<CgroupDir>& dirs);

// Empty where there is none. Only directories named `<job>.<attempt>` are accepted.
Result<std::vector<CgroupDir>> read_cgroup_list(const AttemptDir& dir, const AttemptKey& key);

}  // namespace tangram::runner

// The last steps before the program runs, in its own process: control groups, identity, limits, signals,
// exec.
#pragma once

#include <vector>

#include "base/result.h"
#include "runner/spec.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

struct ExecPlan {
  std::vector<UniqueFd> join;  // the control groups' files to write "0" to
  int output = -1;             // becomes stdout and stderr
  int errors = -1;             // closed by exec; the reason of a failure is written here
};

// Opened before the control groups go out of sight.
Result<std::vector<UniqueFd>> open_join_files(const SuperviseSpec& spec);

// Adds to the job's environment what only the runner knows, where it is missing: HOME and TANGRAM_JOB_DIR
// (the work directory of the attempt) and TMPDIR (its private temporary directory). Everything else is the
// caller's.
std::vector<std::string> job_environment(const SuperviseSpec& spec);

[[noreturn]] void execute_program(const SuperviseSpec& spec, const ExecPlan& plan);

}  // namespace tangram::runner

// Waiting for the end of a job, and what the end means to a shell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace tangram::cli {

bool has_ended(const wire::JobView& view);

// The view when the job has ended or `deadline` has come. The daemon may go and come back meanwhile.
Result<wire::JobView> wait_for_end(Session& session, const std::string& job, TimeMs deadline);

// The exit code that an ended job stands for: its exit status; 128 + n for signal n; 3 when it was refused
// because of a quota; 1 for everything else that is not success.
int exit_code_of(const wire::JobView& ended);

// One job as itself, several as a list; with a table, a line for each.
int emit_jobs(Session& session, const std::vector<wire::JobView>& views,
              const std::function<std::string(const wire::JobView&)>& line);

}  // namespace tangram::cli

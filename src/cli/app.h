// The command `tangram`: words in, exit code out. The process's environment and terminal are read by main()
// alone.
#pragma once

#include <string>
#include <vector>

#include "cli/client_options.h"
#include "cli/session.h"

namespace tangram::cli {

// `words` without the program's name. Exit codes as in wire/errors.h; a job's own with `submit --wait`
// and `wait`. Never throws.
int run(const std::vector<std::string>& words, const Environment& environment, Streams& streams);

}  // namespace tangram::cli

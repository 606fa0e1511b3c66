// How an attempt ended, in the words of the exit record: a pure function of what the supervisor saw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ports/executor.h"

namespace tangram::runner {

struct Observed {
  bool executed = false;           // the program ran
  std::string start_error;         // why it never did
  std::optional<int> main_status;  // of the program, as waitpid(2) gives it
  std::optional<Outcome> imposed;  // kTimedOut, kCancelled or kDeviceLost when it was made to end
  std::int64_t out_of_memory_kills = 0;
};

AttemptExit verdict(const LaunchSpec& spec, const Observed& observed);

}  // namespace tangram::runner

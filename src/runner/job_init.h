// The first process of a job. It builds the job's view of the machine, starts the program under the tenant's
// identity, collects every process the program leaves behind, and ends when none is left. With own namespaces
// it is process 1 of the job, so that its death is the job's; without them it is a subreaper that hunts down
// what remains.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runner/spec.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

// What init tells the supervisor, one packet each.
struct InitReport {
  enum class Kind : std::uint8_t {
    kExecuted,   // the program runs
    kFailed,     // it could not be started; `text` says why
    kNoProcess,  // the machine had no process left to give, and nothing was executed; `text` says so
    kMainEnded,  // `wait_status` as waitpid(2) gives it; other processes may remain
  };

  Kind kind = Kind::kFailed;
  int wait_status = 0;
  char text[1000] = {};
};

// What the supervisor tells init, one byte each. End of file: the supervisor is dead, everything must end.
inline constexpr char kInitTerminate = 't';  // SIGTERM to all processes of the job
inline constexpr char kInitKill = 'k';       // SIGKILL to all processes of the job

struct JobProcess {
  pid_t pid = -1;
  UniqueFd pidfd;
  UniqueFd channel;  // SOCK_SEQPACKET: InitReport from it, bytes to it
};

// How long a machine that has no process left to give is asked again, and how often.
inline constexpr int kForkPatienceMs = 30'000;
inline constexpr int kForkPauseMs = 100;

// Starts init, from a process with a single thread. kResourceExhausted: the machine lacks something at this
// moment. `output` becomes the program's stdout and stderr; no other descriptor of the supervisor lives on in
// the child.
Result<JobProcess> start_job(const SuperviseSpec& spec, int output);

// SIGKILL (or another signal) to all descendants of the calling process; true when there was any.
bool signal_descendants(int signal_number);

}  // namespace tangram::runner

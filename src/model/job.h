// A job as the core knows it. What it runs (program, environment, labels) is no business of the core.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/ids.h"
#include "model/part.h"
#include "model/reason.h"
#include "model/request.h"
#include "model/slice.h"
#include "model/tenant.h"

namespace tangram {

enum class JobState : std::uint8_t {
  kReady,     // in the queue, nothing known to be in its way
  kWaiting,   // in the queue, with a reason
  kStarting,  // NPUs given, the process not yet confirmed
  kRunning,
  kEnded,
};

enum class RestartPolicy : std::uint8_t {
  kNever,
  kOnLost,     // the attempt was lost through no fault of the program (supervisor or device gone)
  kOnFailure,  // that, and a program that ended with an error, at most `restarts_max` times
};

// How an attempt, and with the last attempt its job, ended.
enum class Outcome : std::uint8_t {
  kSucceeded,  // exit status 0
  kFailed,     // other exit status, or a signal
  kTimedOut,   // stopped at its time limit
  kCancelled,
  kNotStarted,  // the program could not be executed
  kLost,        // its supervisor or the machine went away: what became of it is unknown
  kDeviceLost,  // an NPU it held went away
  kRefused,     // --no-wait and not startable at once
};

struct JobSpec {
  JobId id;
  TenantId tenant;
  Priority priority = Priority::kNormal;
  Request request;
  std::int64_t bandwidth_bps = 0;
  std::int64_t time_limit_ms = kUnlimited;  // per attempt
  bool no_wait = false;                     // refuse instead of waiting
  RestartPolicy restart = RestartPolicy::kNever;
  std::int32_t restarts_max = 0;  // kOnFailure only

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// A job's place in the core at an instant. Ended jobs are not kept in the core.
struct JobStatus {
  JobSpec spec;
  JobState state = JobState::kReady;
  ReasonCode reason = ReasonCode::kNone;  // kWaiting only
  std::int32_t attempt = 0;               // of the present or the last try; 0: none yet
  std::int32_t restarts = 0;
  TimeMs submitted_at;
  TimeMs queued_at;  // since when it waits (again)
  TimeMs started_at;
  bool cancel_requested = false;
  std::vector<NpuIndex> npus;  // ascending; the first is the primary device
  // The part of its one NPU that it has. None while it has an NPU: it has the whole of it, which a request
  // for a slice gets when no template is large enough.
  std::optional<SlicePlacement> slice;
  // Where somebody else chooses the node: a job that is admitted and has no place is kWaiting, with reason
  // kNone.
  bool admitted = false;
  // It was booked because it existed, when a limit on its path was already used up.
  bool over_limit = false;
  std::vector<Part> parts = {};        // of a job that has several; empty: the request says all
  std::vector<PartPlace> places = {};  // of those, once it has its place
};

std::string_view to_string(JobState state);
std::string_view to_string(Outcome outcome);
std::string_view to_string(RestartPolicy policy);

}  // namespace tangram

// Would a job fit: the core's own decision about it, made on a copy of the core. Pure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "service/views.h"
#include "wire/fit.h"

namespace tangram::service {

// A request as it would be submitted, and a copy of the core of that instant.
struct FitQuestion {
  JobSpec spec;
  std::string tenant;
  std::optional<Error> refusal;  // it would be refused, and why
  std::shared_ptr<const Scheduler> core;
  DeviceReadings readings;  // of the last look
};

// Every default resolved and every bound checked as for a lease. A viewer may ask for any tenant. Errors are
// those of bad input, of a tenant that is not known or foreign, and of a full queue; what policy or hardware
// refuse for good is an answer.
Result<FitQuestion> resolve_fit(const State& state, const Options& options, const Caller& caller,
                                const wire::LeaseRequest& request,
                                const std::function<std::shared_ptr<const Scheduler>()>& copy_core);

// Expensive (decides and replays on copies): not under a lock. `names`: those that the caller may know.
wire::FitView make_fit(const FitQuestion& question, const wire::Names& names, TimeMs now,
                       wire::Language language);

}  // namespace tangram::service

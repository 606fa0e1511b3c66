// From what a client wrote to the records that make it so: defaults, bounds, checks. Pure functions of the
// state.
#pragma once

#include <string>

#include "base/result.h"
#include "service/access.h"
#include "service/options.h"
#include "service/state.h"
#include "wire/schema.h"

namespace tangram::service {

// The record of a job that may be submitted now: every default resolved, every bound and the core's check
// passed.
//  - tenant: the caller's own when left out; a tenant may submit for itself alone.
//  - memory: left out, the smaller of the smallest NPU's and of the tenant's limit per NPU.
//  - time limit: left out, the tenant's maximum.
//  - host limits: left out, the tenant's job defaults, and without those the daemon's; never above them.
Result<wire::JobSubmittedRecord> resolve_submission(const State& state, const Options& options,
                                                    const Caller& caller,
                                                    const wire::JobSubmission& submission);

// The record of a lease that may be asked for now; nothing of a program in it.
Result<wire::JobSubmittedRecord> resolve_lease(const State& state, const Options& options,
                                               const Caller& caller, const wire::LeaseRequest& request);

// The record that makes the tenant as the document says. A tenant without a uid is given one of the daemon's
// range.
Result<wire::TenantPutRecord> resolve_tenant(const State& state, const Options& options,
                                             const wire::TenantDoc& document);

// The record that cancels a job. `message`: why, empty when it was asked for; `by`: null for the daemon
// itself.
wire::JobCancelledRecord make_cancellation(JobId job, std::string message, const Caller* by);

// Whether the unfinished job of that name is what the submission asks for (`apply` twice changes nothing).
bool is_same_job(const State& state, JobId job, const wire::JobSubmittedRecord& wanted);

}  // namespace tangram::service

// Who asks, and what that one may see and do. Pure functions of the state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "service/options.h"
#include "service/state.h"

namespace tangram::service {

struct Caller {
  enum class Kind : std::uint8_t { kOperator, kTenant };
  Kind kind = Kind::kTenant;
  std::uint32_t uid = 0;
  TenantId tenant;  // kTenant

  bool is_operator() const { return kind == Kind::kOperator; }
};

// Root and the daemon's own uid are operator; a uid that a tenant lists is that tenant; others are refused
// with kUnauthenticated "caller.unknown".
Result<Caller> identify(const State& state, const Options& options, uid_t uid);

// kPermissionDenied "caller.not_operator".
Result<void> require_operator(const Caller& caller, std::string_view what);

// The operator sees all; a tenant itself and its subtree.
bool may_see(const State& state, const Caller& caller, TenantId tenant);

// A tenant by name. Unknown and foreign ones are both kNotFound "tenant.unknown".
Result<TenantId> find_tenant(const State& state, const Caller& caller, std::string_view name);

// "j-17"; kInvalidArgument "input.bad_value" for anything else.
Result<JobId> parse_job_id(std::string_view text);

// A job by "j-17", "tenant/name" or "name": the unfinished one of that name, else the one that ended last.
// Unknown and foreign ones are both kNotFound "job.unknown"; kFailedPrecondition "job.ambiguous" when several
// tenants have a job of that name.
Result<JobId> find_job(const State& state, const Caller& caller, std::string_view reference);

}  // namespace tangram::service

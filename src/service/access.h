// Who asks, and what that one may see and do. Pure functions of the state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "service/options.h"
#include "service/state.h"
#include "wire/language.h"

namespace tangram::service {

// Made by Identities.
struct Caller {
  enum class Kind : std::uint8_t {
    kOperator,
    kTenant,
    kViewer,  // sees what the operator sees, and changes nothing
  };
  Kind kind = Kind::kTenant;
  std::uint32_t uid = 0;    // of a caller without a token
  TenantId tenant;          // kTenant
  std::uint64_t token = 0;  // 0: known by its uid
  std::string tenant_name;  // as it was called when the caller was identified
  std::string token_name;
  wire::Language language = wire::Language::kEnglish;  // of the sentences in the answers

  bool is_operator() const { return kind == Kind::kOperator; }
  bool sees_all() const { return kind != Kind::kTenant; }
  // "uid 1000" or "token t-3": for messages and the record of who did what.
  std::string who() const;
  // "operator", "tenant" or "viewer".
  std::string_view role() const;

  friend bool operator==(const Caller&, const Caller&) = default;
};

// kPermissionDenied "caller.not_operator".
Result<void> require_operator(const Caller& caller, std::string_view what);

// kPermissionDenied "caller.read_only": a viewer may not do `what`.
Result<void> require_writer(const Caller& caller, std::string_view what);

// The operator and viewers see all; a tenant itself and its subtree.
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

#include "service/access.h"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/quote.h"
#include "service/token_text.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

std::optional<JobId> parse_id(std::string_view text) {
  if (!text.starts_with("j-")) return std::nullopt;
  text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return JobId(number);
}

std::optional<TenantId> owner(const State& state, JobId job) {
  if (const auto status = state.core().job(job)) return status->spec.tenant;
  if (const auto ended = state.ended(job)) return ended->status.spec.tenant;
  return std::nullopt;
}

tl::unexpected<Error> no_such_job(std::string_view reference) {
  return fail(Code::kNotFound, "job.unknown", "no job " + printable(reference, 64),
              "`tangram queue --all` lists your jobs", {{"job", std::string(cut_text(reference))}});
}

Result<JobId> find_by_name(const State& state, const Caller& caller, std::string_view name) {
  if (!caller.sees_all()) {
    if (const auto own = state.find_job(caller.tenant, name)) return *own;
  }
  std::vector<std::pair<JobId, TenantId>> candidates;
  for (const bool unfinished : {true, false}) {
    if (!candidates.empty()) break;
    candidates = state.jobs_named(name, unfinished);
    std::erase_if(candidates, [&](const auto& one) {
      return !state.core().tenant(one.second) || !may_see(state, caller, one.second);
    });
  }
  if (candidates.empty()) return no_such_job(name);
  if (candidates.size() == 1) return candidates.front().first;
  return fail(Code::kFailedPrecondition, "job.ambiguous",
              std::to_string(candidates.size()) + " tenants have a job named " + std::string(name),
              "name it by its id, or as TENANT/" + std::string(name));
}

}  // namespace

std::string Caller::who() const {
  return token != 0 ? "token " + format_token_id(token) : "uid " + std::to_string(uid);
}

std::string_view Caller::role() const {
  switch (kind) {
    case Caller::Kind::kOperator:
      return "operator";
    case Caller::Kind::kTenant:
      return "tenant";
    case Caller::Kind::kViewer:
      return "viewer";
  }
  return "?";
}

Result<void> require_operator(const Caller& caller, std::string_view what) {
  if (caller.is_operator()) return {};
  return fail(Code::kPermissionDenied, "caller.not_operator", "only the operator may " + std::string(what),
              "run it as root, or ask the operator");
}

Result<void> require_writer(const Caller& caller, std::string_view what) {
  if (caller.kind != Caller::Kind::kViewer) return {};
  return fail(Code::kPermissionDenied, "caller.read_only",
              caller.who() + " is of role viewer and may not " + std::string(what),
              "use a token of role tenant or operator");
}

bool may_see(const State& state, const Caller& caller, TenantId tenant) {
  return caller.sees_all() || state.is_within(tenant, caller.tenant);
}

Result<TenantId> find_tenant(const State& state, const Caller& caller, std::string_view name) {
  const auto found = state.core().find_tenant(name);
  if (found && may_see(state, caller, *found)) return *found;
  return fail(Code::kNotFound, "tenant.unknown", "no tenant " + printable(name, 64),
              "`tangram quota` lists the tenants", {{"tenant", std::string(cut_text(name))}});
}

Result<JobId> parse_job_id(std::string_view text) {
  if (const auto id = parse_id(text)) return *id;
  return fail(Code::kInvalidArgument, "input.bad_value", quoted(text) + " is no id of a job",
              "an id looks like j-17");
}

Result<JobId> find_job(const State& state, const Caller& caller, std::string_view reference) {
  if (const auto id = parse_id(reference)) {
    const auto tenant = owner(state, *id);
    if (!tenant || !may_see(state, caller, *tenant)) return no_such_job(reference);
    return *id;
  }
  const auto slash = reference.find('/');
  if (slash == std::string_view::npos) return find_by_name(state, caller, reference);
  const auto tenant = state.core().find_tenant(reference.substr(0, slash));
  if (!tenant || !may_see(state, caller, *tenant)) return no_such_job(reference);
  const auto job = state.find_job(*tenant, reference.substr(slash + 1));
  if (!job) return no_such_job(reference);
  return *job;
}

}  // namespace tangram::service

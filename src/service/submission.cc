#include "service/submission.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "service/views.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

Result<TenantId> tenant_of(const State& state, const Caller& caller, const wire::JobSubmission& submission) {
  if (caller.is_operator()) {
    if (submission.tenant.empty()) {
      return fail(Code::kInvalidArgument, "input.missing_field", "tenant is missing",
                  "say for which tenant the job runs: --tenant NAME");
    }
    return find_tenant(state, caller, submission.tenant);
  }
  const auto own = state.core().tenant(caller.tenant);
  if (own && (submission.tenant.empty() || submission.tenant == own->spec.name)) return caller.tenant;
  // The same answer for foreign and for unknown tenants.
  return fail(Code::kPermissionDenied, "tenant.not_yours",
              caller.who() + " may not submit for tenant " + submission.tenant,
              own ? "leave the tenant out, or say " + own->spec.name : std::string());
}

Result<void> check_bounds(const State& state, const Options& options, TenantId tenant) {
  const auto all = static_cast<std::int64_t>(state.live_jobs().size());
  if (all >= options.jobs_max) {
    return fail(Code::kResourceExhausted, "queue.full",
                "the daemon keeps at most " + std::to_string(options.jobs_max) + " unfinished jobs",
                "wait until some have ended", {{"limit", options.jobs_max}, {"used", all}});
  }
  const std::int64_t own = state.live_count(tenant);
  if (own >= options.jobs_per_tenant_max) {
    return fail(
        Code::kResourceExhausted, "queue.tenant_full",
        "a tenant may have at most " + std::to_string(options.jobs_per_tenant_max) + " unfinished jobs",
        "wait until some have ended, or cancel some",
        {{"limit", options.jobs_per_tenant_max}, {"used", own}});
  }
  return {};
}

Result<void> check_bytes(const State& state, const Options& options, const wire::JobSubmittedRecord& record) {
  const TenantId tenant = record.input.spec.tenant;
  const auto found = state.bytes_by_tenant().find(tenant);
  const std::int64_t used = found == state.bytes_by_tenant().end() ? 0 : found->second;
  const std::int64_t more = bytes_of(record.program);
  if (used + more <= options.bytes_per_tenant_max) return {};
  const auto view = state.core().tenant(tenant);
  const std::string name = view ? view->spec.name : "?";
  return fail(
      Code::kResourceExhausted, "queue.tenant_bytes",
      "limits.bytesPerTenant: the jobs that are kept of tenant " + name + " take " + std::to_string(used) +
          " bytes, this one " + std::to_string(more) + ", and " +
          format_bytes(Bytes(options.bytes_per_tenant_max)) + " are possible",
      "submit it with fewer or shorter arguments and environment variables, or wait until some jobs have "
      "ended",
      {{"field", std::string("limits.bytesPerTenant")},
       {"limit", options.bytes_per_tenant_max},
       {"used", used},
       {"requested", more}});
}

// A name that reads like an id would make every later reference ambiguous.
bool reads_like_id(std::string_view name) {
  return name.starts_with("j-") && name.size() > 2 &&
         std::all_of(name.begin() + 2, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> check_job_name(const State& state, TenantId tenant, const std::string& name) {
  if (reads_like_id(name)) {
    return fail(Code::kInvalidArgument, "input.reserved", "name: " + name + " reads like the id of a job",
                "choose a name that is not j-<number>");
  }
  const auto holder = state.find_job(tenant, name);
  if (holder && state.live(*holder) != nullptr) {
    return fail(Code::kAlreadyExists, "job.name_in_use",
                "the unfinished job " + wire::format_job_id(*holder) + " has the name " + name + " already",
                "choose another name, or `tangram cancel " + name + "` first",
                {{"name", name}, {"job", wire::format_job_id(*holder)}});
  }
  return {};
}

Bytes default_memory(const State& state, TenantId tenant) {
  Bytes memory;
  for (const NpuView& npu : state.core().npus()) {
    const Bytes size = npu.report.memory;
    if (size.count > 0 && (memory.count == 0 || size < memory)) memory = size;
  }
  return std::min(memory, state.core().effective_quota(tenant).memory_per_npu);
}

struct HostField {
  std::string_view name;
  std::optional<std::int64_t> asked;
  std::optional<std::int64_t> tenant_default;
  std::int64_t daemon_default;
  std::string (*format)(std::int64_t);
};

Result<std::int64_t> resolve_host(const HostField& field) {
  const std::int64_t bound = field.tenant_default.value_or(field.daemon_default);
  const std::int64_t value = field.asked.value_or(bound);
  if (value <= bound) return value;
  return fail(Code::kPolicyRefused, "host." + std::string(field.name) + ".above_limit",
              "host." + std::string(field.name) + ": the job asks for " + field.format(value) +
                  " and may have at most " + field.format(bound),
              "submit it with --host-" + std::string(field.name) + " " + field.format(bound) +
                  " or less, or ask the operator to raise spec.jobDefaults." + std::string(field.name) +
                  " of the tenant",
              {{"requested", value}, {"limit", bound}});
}

std::string format_memory(std::int64_t count) {
  return format_bytes(Bytes(count));
}

std::string format_count(std::int64_t count) {
  return std::to_string(count);
}

std::optional<std::int64_t> count_of(const std::optional<Bytes>& bytes) {
  if (!bytes) return std::nullopt;
  return bytes->count;
}

Result<HostLimits> resolve_host_limits(const Options& options, const wire::TenantExtras* extras,
                                       const wire::HostLimitsDoc& asked) {
  const wire::HostLimitsDoc tenant = extras != nullptr ? extras->job_defaults : wire::HostLimitsDoc{};
  const HostLimits& daemon = options.host_defaults;
  HostLimits limits;
  TG_TRY(limits.cpu_milli,
         resolve_host({"cpus", asked.cpu_milli, tenant.cpu_milli, daemon.cpu_milli, wire::format_cpus}));
  TG_TRY(const std::int64_t memory, resolve_host({"memory", count_of(asked.memory), count_of(tenant.memory),
                                                  daemon.memory.count, format_memory}));
  limits.memory = Bytes(memory);
  TG_TRY(limits.processes,
         resolve_host({"processes", asked.processes, tenant.processes, daemon.processes, format_count}));
  return limits;
}

Request make_request(const State& state, TenantId tenant, const wire::JobSubmission& submission) {
  Request request;
  if (submission.slice) {
    request.kind = RequestKind::kSlice;
    request.memory_per_npu = submission.slice->memory.value_or(Bytes());
    request.ai_cores = submission.slice->ai_cores;
    return request;
  }
  if (submission.share) request.kind = RequestKind::kShare;
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  request.npus = static_cast<std::int32_t>(std::clamp<std::int64_t>(submission.npus, 0, most));
  request.memory_per_npu = submission.memory.value_or(default_memory(state, tenant));
  return request;
}

Result<void> check_uid(const State& state, const Options& options, TenantId tenant, std::uint32_t uid,
                       const std::string& field) {
  if (uid == 0 || uid == options.own_uid) {
    return fail(Code::kInvalidArgument, "tenant.uid.operator",
                field + ": uid " + std::to_string(uid) + " is the operator's",
                "choose a uid of the tenant's own");
  }
  const auto holder = state.tenant_of_uid(uid);
  if (!holder || *holder == tenant) return {};
  const auto view = state.core().tenant(*holder);
  return fail(Code::kAlreadyExists, "tenant.uid.in_use",
              field + ": uid " + std::to_string(uid) + " belongs to tenant " + (view ? view->spec.name : "?"),
              "a uid may act for one tenant only", {{"uid", std::int64_t{uid}}});
}

// What a job and a lease have in common; not checked by the core yet.
Result<wire::JobSubmittedRecord> resolve_request(const State& state, const Options& options,
                                                 const Caller& caller,
                                                 const wire::JobSubmission& submission) {
  TG_TRY(const TenantId tenant, tenant_of(state, caller, submission));
  TG_TRY_VOID(check_bounds(state, options, tenant));
  if (!submission.name.empty()) TG_TRY_VOID(check_job_name(state, tenant, submission.name));

  wire::JobSubmittedRecord record;
  JobSpec& spec = record.input.spec;
  spec.id = state.next_job_id();
  spec.tenant = tenant;
  spec.priority = submission.priority;
  spec.request = make_request(state, tenant, submission);
  spec.bandwidth_bps = submission.bandwidth_bps;
  spec.time_limit_ms = submission.time_limit_ms.value_or(state.core().effective_quota(tenant).run_time_ms);
  spec.no_wait = submission.no_wait;
  record.program.name = submission.name.empty() ? wire::format_job_id(spec.id) : submission.name;
  record.program.labels = submission.labels;
  record.program.submitter_uid = caller.uid;
  record.program.submitter_token = caller.token;
  return record;
}

Result<wire::JobSubmittedRecord> checked(const State& state, const Caller& caller,
                                         wire::JobSubmittedRecord record) {
  if (auto passed = state.core().check(Input(record.input)); !passed) {
    return fail(reword_refusal(state, record.input.spec, std::move(passed).error(), caller.language));
  }
  return record;
}

}  // namespace

Result<wire::JobSubmittedRecord> resolve_submission(const State& state, const Options& options,
                                                    const Caller& caller,
                                                    const wire::JobSubmission& submission) {
  TG_TRY(wire::JobSubmittedRecord record, resolve_request(state, options, caller, submission));
  JobSpec& spec = record.input.spec;
  spec.restart = submission.restart;
  spec.restarts_max = submission.restarts_max;
  wire::JobProgram& program = record.program;
  program.command = submission.command;
  program.env = submission.env;
  program.workdir = submission.workdir;
  TG_TRY(program.host, resolve_host_limits(options, state.extras(spec.tenant), submission.host));
  TG_TRY_VOID(check_bytes(state, options, record));
  return checked(state, caller, std::move(record));
}

Result<wire::JobSubmittedRecord> resolve_lease(const State& state, const Options& options,
                                               const Caller& caller, const wire::LeaseRequest& request) {
  TG_TRY(wire::JobSubmittedRecord record, resolve_request(state, options, caller, request));
  record.program.kind = wire::JobKind::kLease;
  TG_TRY_VOID(check_bytes(state, options, record));
  return checked(state, caller, std::move(record));
}

Result<wire::TenantPutRecord> resolve_tenant(const State& state, const Options& options,
                                             const wire::TenantDoc& document) {
  const auto known = state.core().find_tenant(document.name);
  if (!known && static_cast<std::int64_t>(state.core().tenant_count()) >= options.tenants_max) {
    return fail(Code::kResourceExhausted, "tenants.full",
                "the daemon keeps at most " + std::to_string(options.tenants_max) + " tenants",
                "delete one with `tangram tenant delete NAME`", {{"limit", options.tenants_max}});
  }
  wire::TenantPutRecord record;
  record.input.id = known.value_or(state.core().next_tenant_id());
  record.input.spec = TenantSpec{document.name, document.parent, document.quota};
  record.extras.uid = document.uid;
  record.extras.members = document.members;
  record.extras.job_defaults = document.job_defaults;

  const TenantId id = record.input.id;
  if (document.uid) TG_TRY_VOID(check_uid(state, options, id, *document.uid, "spec.uid"));
  for (std::size_t i = 0; i < document.members.size(); ++i) {
    TG_TRY_VOID(
        check_uid(state, options, id, document.members[i], "spec.members[" + std::to_string(i) + "]"));
  }
  const wire::TenantExtras* before = known ? state.extras(*known) : nullptr;
  if (before != nullptr) record.extras.allocated_uid = before->allocated_uid;
  if (!document.uid && !record.extras.allocated_uid) {
    record.extras.allocated_uid = state.next_uid(options.uids.first, options.uids.count);
    if (!record.extras.allocated_uid) {
      return fail(Code::kResourceExhausted, "tenant.uid.exhausted",
                  "all " + std::to_string(options.uids.count) + " uids of the range are given to tenants",
                  "widen jobs.uids in tangramd.yaml, or give the tenant a uid");
    }
  }
  TG_TRY_VOID(state.core().check(Input(record.input)));
  return record;
}

wire::JobCancelledRecord make_cancellation(JobId job, std::string message, const Caller* by) {
  wire::JobCancelledRecord record{{job}, std::nullopt, std::move(message)};
  if (by != nullptr && by->token == 0) record.by_uid = by->uid;
  if (by != nullptr) record.by_token = by->token;
  return record;
}

bool is_same_job(const State& state, JobId job, const wire::JobSubmittedRecord& wanted) {
  const auto status = state.core().job(job);
  const LiveJob* live = state.live(job);
  if (!status || live == nullptr) return false;
  JobSpec spec = wanted.input.spec;
  spec.id = job;
  wire::JobProgram program = wanted.program;
  program.submitter_uid = live->program->submitter_uid;
  program.submitter_token = live->program->submitter_token;
  program.idempotency_key = live->program->idempotency_key;
  program.request_hash = live->program->request_hash;
  return status->spec == spec && *live->program == program;
}

}  // namespace tangram::service

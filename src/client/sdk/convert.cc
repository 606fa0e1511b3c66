#include "client/sdk/convert.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/invariant.h"

namespace tangram::client {
namespace {

// Each word of one side with its twin of the other.
template <class Ours, class Theirs, std::size_t Count>
using Twins = std::array<std::pair<Ours, Theirs>, Count>;

constexpr Twins<Code, api::ErrorCode, 15> kCodes{{
    {Code::kInvalidArgument, api::ErrorCode::kInvalidArgument},
    {Code::kNotFound, api::ErrorCode::kNotFound},
    {Code::kAlreadyExists, api::ErrorCode::kAlreadyExists},
    {Code::kPermissionDenied, api::ErrorCode::kPermissionDenied},
    {Code::kUnauthenticated, api::ErrorCode::kUnauthenticated},
    {Code::kFailedPrecondition, api::ErrorCode::kFailedPrecondition},
    {Code::kPolicyRefused, api::ErrorCode::kPolicyRefused},
    {Code::kNotNow, api::ErrorCode::kNotNow},
    {Code::kResourceExhausted, api::ErrorCode::kResourceExhausted},
    {Code::kAborted, api::ErrorCode::kAborted},
    {Code::kUnavailable, api::ErrorCode::kUnavailable},
    {Code::kDeadlineExceeded, api::ErrorCode::kDeadlineExceeded},
    {Code::kDataLoss, api::ErrorCode::kDataLoss},
    {Code::kUnimplemented, api::ErrorCode::kUnimplemented},
    {Code::kInternal, api::ErrorCode::kInternal},
}};

constexpr Twins<Priority, api::Priority, 3> kPriorities{{
    {Priority::kHigh, api::Priority::kHigh},
    {Priority::kNormal, api::Priority::kNormal},
    {Priority::kLow, api::Priority::kLow},
}};

constexpr Twins<JobState, api::JobState, 5> kStates{{
    {JobState::kReady, api::JobState::kReady},
    {JobState::kWaiting, api::JobState::kWaiting},
    {JobState::kStarting, api::JobState::kStarting},
    {JobState::kRunning, api::JobState::kRunning},
    {JobState::kEnded, api::JobState::kEnded},
}};

constexpr Twins<Outcome, api::Outcome, 8> kOutcomes{{
    {Outcome::kSucceeded, api::Outcome::kSucceeded},
    {Outcome::kFailed, api::Outcome::kFailed},
    {Outcome::kTimedOut, api::Outcome::kTimedOut},
    {Outcome::kCancelled, api::Outcome::kCancelled},
    {Outcome::kNotStarted, api::Outcome::kNotStarted},
    {Outcome::kLost, api::Outcome::kLost},
    {Outcome::kDeviceLost, api::Outcome::kDeviceLost},
    {Outcome::kRefused, api::Outcome::kRefused},
}};

constexpr Twins<Health, api::Health, 6> kHealths{{
    {Health::kUnknown, api::Health::kUnknown},
    {Health::kOk, api::Health::kOk},
    {Health::kWarning, api::Health::kWarning},
    {Health::kAlarm, api::Health::kAlarm},
    {Health::kCritical, api::Health::kCritical},
    {Health::kAbsent, api::Health::kAbsent},
}};

constexpr Twins<RestartPolicy, api::Restart, 3> kRestarts{{
    {RestartPolicy::kNever, api::Restart::kNever},
    {RestartPolicy::kOnLost, api::Restart::kOnLost},
    {RestartPolicy::kOnFailure, api::Restart::kOnFailure},
}};

template <class Table, class Ours>
auto theirs(const Table& table, Ours word) {
  const auto found =
      std::find_if(table.begin(), table.end(), [word](const auto& t) { return t.first == word; });
  TG_ASSERT(found != table.end(), "every word has its twin");
  return found->second;
}

template <class Table, class Theirs>
auto ours(const Table& table, Theirs word) {
  const auto found =
      std::find_if(table.begin(), table.end(), [word](const auto& t) { return t.second == word; });
  // A number that the caller cast into an enumeration: the first word stands for it.
  return found == table.end() ? table.front().first : found->first;
}

api::TimePoint time_point(TimeMs time) {
  return api::TimePoint(std::chrono::milliseconds(time.value));
}

std::optional<api::TimePoint> time_point(const std::optional<TimeMs>& time) {
  return time ? std::optional(time_point(*time)) : std::nullopt;
}

std::optional<api::milliseconds> duration(const std::optional<std::int64_t>& ms) {
  return ms ? std::optional(api::milliseconds(*ms)) : std::nullopt;
}

std::optional<std::int64_t> count(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->count) : std::nullopt;
}

std::optional<std::int64_t> limit(std::int64_t value) {
  return value >= kUnlimited ? std::nullopt : std::optional(value);
}

std::optional<int> narrow(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

api::Reason reason(const wire::ReasonView& view) {
  return {view.code, view.message, view.hint};
}

api::HostLimits host(const wire::HostLimitsDoc& limits) {
  return {limits.cpu_milli, count(limits.memory), limits.processes};
}

wire::HostLimitsDoc host(const api::HostLimits& limits) {
  wire::HostLimitsDoc doc;
  doc.cpu_milli = limits.cpu_milli;
  if (limits.memory_bytes) doc.memory = Bytes(*limits.memory_bytes);
  doc.processes = limits.processes;
  return doc;
}

// What a job and a lease have in common.
template <class Request>
wire::JobSubmission request_of(const Request& request) {
  wire::JobSubmission job;
  job.tenant = request.tenant;
  job.name = request.name;
  job.npus = request.npus;
  if (request.memory_per_npu_bytes) job.memory = Bytes(*request.memory_per_npu_bytes);
  if (request.slice) {
    job.slice.emplace();
    if (request.slice->memory_bytes) job.slice->memory = Bytes(*request.slice->memory_bytes);
    job.slice->ai_cores = request.slice->ai_cores;
  }
  job.bandwidth_bps = request.bandwidth_bps;
  job.priority = ours(kPriorities, request.priority);
  if (request.time_limit) job.time_limit_ms = request.time_limit->count();
  job.no_wait = request.no_wait;
  job.labels = request.labels;
  return job;
}

// What would be written as "unlimited", or could not be written at all.
Result<std::int64_t> checked(std::string_view field, const std::optional<std::int64_t>& value) {
  if (!value) return kUnlimited;
  if (*value >= 0 && *value < kUnlimited) return *value;
  return fail(Code::kInvalidArgument, "client.value.out_of_range",
              std::string(field) + " is " + std::to_string(*value) + ", which is no limit",
              "leave it out for no limit", {{"field", std::string(field)}, {"value", *value}});
}

}  // namespace

api::Error to_api(const tangram::Error& error) {
  return {theirs(kCodes, error.code), error.reason, error.message, error.hint};
}

api::Health to_api(Health health) {
  return theirs(kHealths, health);
}

api::Quota to_api(const tangram::Quota& quota) {
  api::Quota result;
  result.npus = limit(quota.npus);
  result.memory_per_npu_bytes = limit(quota.memory_per_npu.count);
  result.memory_total_bytes = limit(quota.memory_total.count);
  result.ai_cores = limit(quota.ai_cores);
  result.running_jobs = limit(quota.running_jobs);
  result.run_time = duration(limit(quota.run_time_ms));
  result.bandwidth_bps = limit(quota.bandwidth_bps);
  if (quota.priorities == PrioritySet::all()) return result;
  result.priorities.emplace();
  for (const auto& [word, twin] : kPriorities) {
    if (quota.priorities.contains(word)) result.priorities->push_back(twin);
  }
  return result;
}

Result<tangram::Quota> to_wire(const api::Quota& quota) {
  tangram::Quota result;
  TG_TRY(result.npus, checked("npus", quota.npus));
  TG_TRY(result.memory_per_npu.count, checked("memory_per_npu_bytes", quota.memory_per_npu_bytes));
  TG_TRY(result.memory_total.count, checked("memory_total_bytes", quota.memory_total_bytes));
  TG_TRY(result.ai_cores, checked("ai_cores", quota.ai_cores));
  TG_TRY(result.running_jobs, checked("running_jobs", quota.running_jobs));
  TG_TRY(result.bandwidth_bps, checked("bandwidth_bps", quota.bandwidth_bps));
  const auto run_time = quota.run_time ? std::optional<std::int64_t>(quota.run_time->count()) : std::nullopt;
  TG_TRY(result.run_time_ms, checked("run_time", run_time));
  if (!quota.priorities) return result;
  result.priorities = PrioritySet{0};
  for (const api::Priority priority : *quota.priorities)
    result.priorities.insert(ours(kPriorities, priority));
  return result;
}

api::TenantStatus to_api(const wire::QuotaView& view) {
  api::TenantStatus status;
  status.tenant.name = view.tenant.name;
  status.tenant.parent = view.tenant.parent;
  status.tenant.quota = to_api(view.tenant.quota);
  status.tenant.uid = view.tenant.uid;
  status.tenant.members = view.tenant.members;
  status.tenant.job_defaults = host(view.tenant.job_defaults);
  status.used = {view.used.npus, view.used.memory_total.count, view.used.ai_cores, view.used.running_jobs,
                 view.used.bandwidth_bps};
  status.queued = view.queued;
  status.notes = view.notes;
  return status;
}

Result<wire::TenantDoc> to_wire(const api::Tenant& tenant) {
  wire::TenantDoc doc;
  doc.name = tenant.name;
  doc.parent = tenant.parent;
  TG_TRY(doc.quota, to_wire(tenant.quota));
  doc.uid = tenant.uid;
  doc.members = tenant.members;
  doc.job_defaults = host(tenant.job_defaults);
  return doc;
}

api::Job to_api(const wire::JobView& view) {
  api::Job job;
  job.id = view.id;
  job.is_lease = view.kind == wire::JobKind::kLease;
  job.name = view.name;
  job.tenant = view.tenant;
  job.priority = theirs(kPriorities, view.priority);
  job.state = theirs(kStates, view.state);
  if (view.reason) job.reason = reason(*view.reason);
  job.position = view.position;
  job.npus_requested = view.npus_requested;
  job.memory_per_npu_bytes = count(view.memory_per_npu);
  if (view.slice_requested)
    job.slice_requested = {count(view.slice_requested->memory), view.slice_requested->ai_cores};
  if (view.slice) {
    job.slice = {view.slice->template_name, view.slice->memory.count, view.slice->usable_memory.count,
                 view.slice->ai_cores, view.slice->vgroup};
  }
  job.time_limit = duration(view.time_limit_ms);
  job.attempt = view.attempt;
  job.npus = view.npus;
  job.labels = view.labels;
  job.submitted_at = time_point(view.submitted_at);
  job.started_at = time_point(view.started_at);
  job.ended_at = time_point(view.ended_at);
  if (view.outcome) job.outcome = theirs(kOutcomes, *view.outcome);
  job.exit_status = narrow(view.exit_status);
  job.signal = narrow(view.signal);
  job.message = view.message;
  return job;
}

wire::JobSubmission to_wire(const api::JobRequest& request) {
  wire::JobSubmission job = request_of(request);
  job.restart = ours(kRestarts, request.restart);
  job.restarts_max = request.restarts_max;
  job.command = request.command;
  job.env = request.env;
  job.workdir = request.workdir;
  job.host = host(request.host);
  return job;
}

wire::LeaseRequest to_wire(const api::LeaseRequest& request) {
  return request_of(request);
}

JobFilter to_wire(const api::JobQuery& query) {
  JobFilter filter;
  filter.tenant = query.tenant;
  filter.labels.assign(query.labels.begin(), query.labels.end());
  if (query.state) filter.state = ours(kStates, *query.state);
  filter.all = query.ended_too;
  return filter;
}

api::Explanation to_api(const wire::WhyView& view) {
  api::Explanation why;
  why.job = to_api(view.job);
  why.verdict = view.verdict;
  for (const wire::ReasonView& blocker : view.blockers) why.blockers.push_back(reason(blocker));
  for (const wire::RemedyView& remedy : view.remedies) {
    why.remedies.push_back({remedy.text, remedy.command, remedy.starts});
  }
  why.estimated_start = time_point(view.estimated_start);
  why.assumption = view.assumption;
  return why;
}

api::Status to_api(const wire::StatusView& view) {
  api::Status status;
  status.version = view.version;
  status.node = view.node;
  status.driver_version = view.driver_version;
  status.devices_available = view.devices_available;
  status.devices_note = view.devices_note;
  for (const wire::NpuStatusView& npu : view.npus) {
    status.npus.push_back({npu.npu, npu.chip, to_api(npu.health), npu.health_note, count(npu.memory_total),
                           count(npu.memory_used), npu.ai_cores, npu.ai_core_percent, npu.temperature_celsius,
                           npu.power_milliwatt, npu.tenant, npu.job});
  }
  status.npus_free = view.npus_free;
  status.jobs_running = view.jobs_running;
  status.jobs_queued = view.jobs_queued;
  return status;
}

api::Event to_api(const FollowedEvent& followed) {
  const wire::EventView& view = followed.view;
  api::Event event;
  event.cursor = view.cursor;
  event.at = time_point(view.at);
  event.type = view.type;
  event.tenant = view.tenant;
  event.job = view.job;
  if (view.state) event.state = theirs(kStates, *view.state);
  event.npus = view.npus;
  event.npu = view.npu;
  if (view.health) event.health = to_api(*view.health);
  if (view.health_before) event.health_before = to_api(*view.health_before);
  if (view.outcome) event.outcome = theirs(kOutcomes, *view.outcome);
  event.json = followed.json;
  return event;
}

EventQuery to_wire(const api::EventQuery& query) {
  return {query.tenant, query.job, query.npu, query.types};
}

api::LeaseNews to_api(const LeaseNews& news) {
  api::LeaseNews result;
  const wire::LeaseView& view = news.view;
  result.job = to_api(view.job);
  result.grace = api::milliseconds(view.grace_ms);
  result.message = news.lost ? news.lost->message : view.job.message;
  if (news.over()) {
    result.state = api::LeaseState::kEnded;
  } else if (!news.connected) {
    result.state = api::LeaseState::kUncertain;
  } else if (view.stopping) {
    result.state = api::LeaseState::kStopping;
  } else if (view.job.state == JobState::kRunning) {
    result.state = api::LeaseState::kHeld;
  }
  if (view.stopping) result.stopping = theirs(kOutcomes, *view.stopping);
  result.release_by = time_point(view.release_by);
  return result;
}

}  // namespace tangram::client

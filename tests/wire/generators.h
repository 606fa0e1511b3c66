// Arbitrary values of everything that goes over the wire or into the journal.
#pragma once

#include <rapidcheck.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/doctor.h"
#include "wire/event.h"
#include "wire/fit.h"
#include "wire/record.h"
#include "wire/schema.h"
#include "wire/slices.h"

namespace tangram::wire::test {

inline rc::Gen<std::string> name_gen() {
  return rc::gen::map(rc::gen::inRange(0, 100'000), [](int n) { return "name-" + std::to_string(n) + "x"; });
}

// Valid UTF-8 of one to four bytes, quotes, control characters and what YAML would misread.
inline rc::Gen<std::string> text_gen() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::vector<std::string>{
          "a",  "Z",  "0",    "7",    " ", "\"", "\\", "\n", "\t", "\x01", "\x7f", ":", "#", "-", "é",
          "张", "🚀", "true", "null", "~", "{",  "]",  "&",  "*",  "%",    "'",    "|", ">", "/"})),
      [](const std::vector<std::string>& pieces) {
        std::string text;
        for (const std::string& piece : pieces) text += piece;
        return text;
      });
}

inline rc::Gen<std::map<std::string, std::string>> labels_gen() {
  return rc::gen::resize(8, rc::gen::container<std::map<std::string, std::string>>(name_gen(), name_gen()));
}

inline rc::Gen<std::vector<std::string>> command_gen() {
  return rc::gen::map(rc::gen::resize(8, rc::gen::container<std::vector<std::string>>(text_gen())),
                      [](std::vector<std::string> rest) {
                        rest.insert(rest.begin(), "/bin/program");
                        return rest;
                      });
}

inline rc::Gen<std::int64_t> amount_gen() {
  return rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 50);
}
inline rc::Gen<std::int64_t> duration_gen() {
  return rc::gen::inRange<std::int64_t>(1, 300'000'000'000);
}
inline rc::Gen<TimeMs> time_gen() {
  return rc::gen::construct<TimeMs>(rc::gen::inRange<std::int64_t>(0, 253'402'300'799'999));
}

inline rc::Gen<Priority> priority_gen() {
  return rc::gen::element(Priority::kHigh, Priority::kNormal, Priority::kLow);
}
inline rc::Gen<Outcome> outcome_gen() {
  return rc::gen::map(rc::gen::inRange(0, 8), [](int n) { return static_cast<Outcome>(n); });
}
inline rc::Gen<JobState> job_state_gen() {
  return rc::gen::map(rc::gen::inRange(0, 5), [](int n) { return static_cast<JobState>(n); });
}
inline rc::Gen<RestartPolicy> restart_gen() {
  return rc::gen::map(rc::gen::inRange(0, 3), [](int n) { return static_cast<RestartPolicy>(n); });
}
inline rc::Gen<Health> health_gen() {
  return rc::gen::map(rc::gen::inRange(0, 6), [](int n) { return static_cast<Health>(n); });
}
inline rc::Gen<ReasonCode> reason_code_gen() {
  return rc::gen::map(rc::gen::inRange(0, static_cast<int>(kReasonLast) + 1),
                      [](int n) { return static_cast<ReasonCode>(n); });
}

inline HostLimitsDoc host_doc() {
  HostLimitsDoc doc;
  if (*rc::gen::arbitrary<bool>()) doc.cpu_milli = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
  if (*rc::gen::arbitrary<bool>()) doc.memory = Bytes(*amount_gen());
  if (*rc::gen::arbitrary<bool>()) doc.processes = *rc::gen::inRange<std::int64_t>(1, 4'194'304);
  return doc;
}

inline Quota quota() {
  Quota quota;
  if (*rc::gen::arbitrary<bool>()) quota.npus = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  if (*rc::gen::arbitrary<bool>()) quota.memory_per_npu = Bytes(*amount_gen());
  if (*rc::gen::arbitrary<bool>()) quota.memory_total = Bytes(*amount_gen());
  if (*rc::gen::arbitrary<bool>()) quota.ai_cores = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  if (*rc::gen::arbitrary<bool>()) quota.running_jobs = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  if (*rc::gen::arbitrary<bool>()) quota.run_time_ms = *duration_gen();
  if (*rc::gen::arbitrary<bool>()) quota.bandwidth_bps = *amount_gen();
  quota.priorities.bits = static_cast<std::uint8_t>(*rc::gen::inRange(0, 8));
  return quota;
}

inline TenantDoc tenant_doc() {
  TenantDoc doc;
  doc.name = *name_gen();
  if (*rc::gen::arbitrary<bool>()) doc.parent = *name_gen();
  doc.quota = quota();
  if (*rc::gen::arbitrary<bool>()) doc.uid = *rc::gen::inRange<std::uint32_t>(1, 4'294'967'294U);
  doc.members = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(1, 70'000));
  doc.job_defaults = host_doc();
  return doc;
}

inline SliceRequest slice_request() {
  return {Bytes(*amount_gen()), *rc::gen::inRange(0, 1'000)};
}

inline JobSubmission submission() {
  JobSubmission job;
  if (*rc::gen::arbitrary<bool>()) job.tenant = *name_gen();
  if (*rc::gen::arbitrary<bool>()) job.name = *name_gen();
  job.npus = *rc::gen::inRange<std::int64_t>(1, 1'000);
  if (*rc::gen::arbitrary<bool>()) job.memory = Bytes(*amount_gen());
  if (*rc::gen::arbitrary<bool>()) {
    job.slice = slice_request();
    job.npus = 1;
    job.memory.reset();
  }
  if (!job.slice && *rc::gen::arbitrary<bool>()) job.share = *name_gen();
  if (*rc::gen::arbitrary<bool>()) job.bandwidth_bps = *amount_gen();
  job.priority = *priority_gen();
  if (*rc::gen::arbitrary<bool>()) job.time_limit_ms = *duration_gen();
  job.no_wait = *rc::gen::arbitrary<bool>();
  job.restart = *restart_gen();
  if (job.restart == RestartPolicy::kOnFailure) job.restarts_max = *rc::gen::inRange(0, 1'000);
  job.labels = *labels_gen();
  job.command = *command_gen();
  job.env = {{"PATH", *text_gen()}, {"_x1", *text_gen()}};
  if (*rc::gen::arbitrary<bool>()) job.workdir = "/" + *name_gen();
  job.host = host_doc();
  return job;
}

inline Details details() {
  return {{"used", *rc::gen::arbitrary<std::int64_t>()}, {"tenant", *text_gen()}, {"limit", std::int64_t{4}}};
}

inline ReasonView reason_view() {
  return {*name_gen(), *text_gen(), *text_gen(), details()};
}

template <class T>
std::optional<T> maybe(const rc::Gen<T>& gen) {
  if (!*rc::gen::arbitrary<bool>()) return std::nullopt;
  return *gen;
}

inline rc::Gen<std::int64_t> count_gen() {
  return rc::gen::inRange<std::int64_t>(0, 1'000'000);
}

inline EventView event_view() {
  EventView event;
  event.cursor =
      format_cursor({*rc::gen::inRange<std::uint64_t>(0, 1'000'000), *rc::gen::inRange<std::uint32_t>(0, 9)});
  event.at = *time_gen();
  event.type =
      *rc::gen::elementOf(std::vector<std::string>{"job.ended", "npu.health", "job.from_the_future"});
  event.tenant = *text_gen();
  event.job = *text_gen();
  event.job_name = *text_gen();
  if (*rc::gen::arbitrary<bool>()) event.kind = JobKind::kLease;
  event.state = maybe(job_state_gen());
  event.attempt = *rc::gen::inRange(0, 1'000);
  event.priority = maybe(priority_gen());
  event.npus_requested = *count_gen();
  event.jobs = *count_gen();
  if (*rc::gen::arbitrary<bool>()) event.reason = reason_view();
  event.npus = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
  event.npu = maybe(rc::gen::arbitrary<std::uint32_t>());
  event.slice = maybe(rc::gen::arbitrary<std::uint32_t>());
  event.template_name = *text_gen();
  event.node = *text_gen();
  event.chip = *text_gen();
  event.health = maybe(health_gen());
  event.health_before = maybe(health_gen());
  event.outcome = maybe(outcome_gen());
  event.exit_status = maybe(rc::gen::arbitrary<std::int64_t>());
  event.signal = maybe(count_gen());
  event.message = *text_gen();
  event.by_uid = maybe(rc::gen::arbitrary<std::uint32_t>());
  event.by_token = *text_gen();
  if (*rc::gen::arbitrary<bool>()) event.quota = quota();
  event.changed = *rc::gen::container<std::vector<std::string>>(text_gen());
  event.version = *text_gen();
  return event;
}

inline JobView job_view() {
  JobView job;
  job.id = "j-" + std::to_string(*rc::gen::inRange(1, 1'000'000));
  job.name = *name_gen();
  job.tenant = *name_gen();
  job.priority = *priority_gen();
  job.state = static_cast<JobState>(*rc::gen::inRange(0, 5));
  if (*rc::gen::arbitrary<bool>()) job.reason = reason_view();
  job.position = maybe(count_gen());
  job.npus_requested = *count_gen();
  if (*rc::gen::arbitrary<bool>()) job.memory_per_npu = Bytes(*amount_gen());
  if (*rc::gen::arbitrary<bool>()) job.slice_requested = slice_request();
  if (*rc::gen::arbitrary<bool>()) {
    job.slice =
        SliceView{*name_gen(), Bytes(*amount_gen()), Bytes(*amount_gen()), 4, *rc::gen::inRange(0, 4), 108};
  }
  job.granted = *text_gen();
  job.bandwidth_bps = *amount_gen();
  job.time_limit_ms = maybe(duration_gen());
  job.no_wait = *rc::gen::arbitrary<bool>();
  job.restart = *restart_gen();
  if (job.restart == RestartPolicy::kOnFailure) job.restarts_max = *rc::gen::inRange(0, 1'000);
  job.restarts = *rc::gen::inRange(0, 1'000);
  job.attempt = *rc::gen::inRange(0, 1'000);
  job.npus = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 1'000));
  job.labels = *labels_gen();
  job.command = *command_gen();
  job.workdir = *text_gen();
  job.submitted_at = *time_gen();
  job.started_at = maybe(time_gen());
  job.ended_at = maybe(time_gen());
  job.outcome = maybe(outcome_gen());
  job.exit_status = maybe(rc::gen::inRange<std::int64_t>(-1, 256));
  job.signal = maybe(rc::gen::inRange<std::int64_t>(0, 65));
  job.message = *text_gen();
  return job;
}

inline LeaseView lease_view() {
  LeaseView lease;
  lease.job = job_view();
  lease.job.kind = JobKind::kLease;
  lease.token = *text_gen();
  lease.grace_ms = *duration_gen();
  lease.stopping = maybe(outcome_gen());
  lease.release_by = maybe(time_gen());
  return lease;
}

inline NpuStatusView npu_status_view() {
  NpuStatusView npu;
  npu.npu = *rc::gen::arbitrary<std::uint32_t>();
  npu.chip = *text_gen();
  npu.health = *health_gen();
  npu.health_note = *text_gen();
  npu.mode = static_cast<NpuMode>(*rc::gen::inRange(0, 4));
  if (*rc::gen::arbitrary<bool>()) npu.memory_total = Bytes(*amount_gen());
  if (*rc::gen::arbitrary<bool>()) npu.memory_used = Bytes(*amount_gen());
  npu.ai_cores = maybe(count_gen());
  npu.ai_core_percent = maybe(count_gen());
  npu.temperature_celsius = maybe(rc::gen::inRange<std::int64_t>(-40, 120));
  npu.power_milliwatt = maybe(count_gen());
  npu.tenant = *text_gen();
  npu.job = *text_gen();
  npu.job_name = *text_gen();
  return npu;
}

inline StatusView status_view() {
  StatusView status;
  status.version = *text_gen();
  status.node = *text_gen();
  status.driver_version = *text_gen();
  status.devices_available = *rc::gen::arbitrary<bool>();
  status.devices_note = *text_gen();
  status.npus = {npu_status_view(), npu_status_view()};
  status.npus_free = *count_gen();
  status.jobs_running = *count_gen();
  status.jobs_queued = *count_gen();
  status.missing_walls = *command_gen();
  return status;
}

inline QuotaView quota_view() {
  QuotaView view;
  view.tenant = tenant_doc();
  view.used = Usage{*count_gen(), Bytes(*amount_gen()), *count_gen(), *count_gen(), *amount_gen()};
  view.queued = *count_gen();
  view.notes = *command_gen();
  return view;
}

inline WhyView why_view() {
  WhyView why;
  why.job = job_view();
  why.verdict = *text_gen();
  why.blockers = {reason_view(), reason_view()};
  why.remedies = {{*text_gen(), *text_gen(), true}, {*text_gen(), "", false}};
  why.position = maybe(count_gen());
  why.queue_length = *count_gen();
  why.estimated_start = maybe(time_gen());
  why.assumption = *text_gen();
  return why;
}

inline StandingSliceView standing_slice() {
  StandingSliceView view;
  view.id = maybe(rc::gen::arbitrary<std::uint32_t>());
  view.template_name = *text_gen();
  view.standing = static_cast<SliceStanding>(*rc::gen::inRange(0, 3));
  view.ai_cores = maybe(count_gen());
  view.memory = Bytes(*amount_gen());
  view.usable_memory = Bytes(*amount_gen());
  view.vgroup = maybe(rc::gen::inRange<std::int32_t>(0, 4));
  view.unseen = *rc::gen::arbitrary<bool>();
  view.tenant = *text_gen();
  view.job = *text_gen();
  view.job_name = *text_gen();
  return view;
}

inline SlicesView slices_view() {
  NpuSlicesView npu;
  npu.npu = *rc::gen::arbitrary<std::uint32_t>();
  npu.card = maybe(rc::gen::inRange<std::int32_t>(0, 64));
  npu.chip_on_card = maybe(rc::gen::inRange<std::int32_t>(0, 4));
  npu.chip = *text_gen();
  npu.model = *text_gen();
  npu.health = static_cast<Health>(*rc::gen::inRange(0, 6));
  npu.mode = static_cast<NpuMode>(*rc::gen::inRange(0, 4));
  npu.ai_cores = maybe(count_gen());
  npu.memory = Bytes(*amount_gen());
  if (*rc::gen::arbitrary<bool>()) npu.usable_memory = Bytes(*amount_gen());
  npu.tenant = *text_gen();
  npu.job = *text_gen();
  npu.job_name = *text_gen();
  npu.offered = *rc::gen::arbitrary<bool>();
  npu.note = *text_gen();
  npu.slices = {standing_slice(), standing_slice()};
  npu.free_ai_cores = maybe(count_gen());
  npu.cuts = {{*text_gen(),
               *count_gen(),
               *count_gen(),
               Bytes(*amount_gen()),
               Bytes(*amount_gen()),
               *count_gen(),
               {reason_view()}}};
  if (*rc::gen::arbitrary<bool>()) npu.asked = SliceMixView{{*text_gen()}, false, {reason_view()}};
  return {*text_gen(), {npu, NpuSlicesView{}}};
}

inline FitView fit_view() {
  FitView view;
  view.answer = static_cast<FitAnswer>(*rc::gen::inRange(0, 3));
  view.verdict = *text_gen();
  view.tenant = *text_gen();
  view.priority = *priority_gen();
  view.npus_requested = maybe(count_gen());
  view.memory_per_npu = Bytes(*amount_gen());
  view.granted = *text_gen();
  view.npus = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
  if (*rc::gen::arbitrary<bool>()) {
    view.slice.emplace();
    view.slice->template_name = *text_gen();
    view.slice->memory = Bytes(*amount_gen());
    view.slice->vgroup = 1;
  }
  view.blockers = {reason_view()};
  view.remedies = {{*text_gen(), *text_gen(), true}};
  view.position = maybe(count_gen());
  view.queue_length = *count_gen();
  view.estimated_start = maybe(time_gen());
  view.assumption = *text_gen();
  return view;
}

inline DoctorView doctor_view() {
  FindingView finding;
  finding.severity = static_cast<Severity>(*rc::gen::inRange(0, 3));
  finding.code = *text_gen();
  finding.message = *text_gen();
  finding.hint = *text_gen();
  finding.command = *text_gen();
  finding.npu = maybe(rc::gen::arbitrary<std::uint32_t>());
  finding.slice = maybe(rc::gen::arbitrary<std::uint32_t>());
  return {*text_gen(), *text_gen(), *text_gen(), {finding, FindingView{}}};
}

inline JobSpec job_spec() {
  JobSpec spec;
  spec.id = JobId(*rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62));
  spec.tenant = TenantId(*rc::gen::inRange<std::uint32_t>(0, 4'000'000'000U));
  spec.priority = *priority_gen();
  spec.request = {static_cast<RequestKind>(*rc::gen::inRange(0, 3)), *rc::gen::arbitrary<std::int32_t>(),
                  Bytes(*rc::gen::arbitrary<std::int64_t>()), *rc::gen::arbitrary<std::int32_t>(),
                  *rc::gen::arbitrary<std::int32_t>()};
  spec.bandwidth_bps = *rc::gen::arbitrary<std::int64_t>();
  spec.time_limit_ms = *rc::gen::arbitrary<bool>() ? kUnlimited : *duration_gen();
  spec.no_wait = *rc::gen::arbitrary<bool>();
  spec.restart = *restart_gen();
  spec.restarts_max = *rc::gen::arbitrary<std::int32_t>();
  return spec;
}

inline JobProgram program() {
  JobProgram program;
  program.name = *text_gen();
  program.labels = *labels_gen();
  program.command = *command_gen();
  program.env = {{"A", *text_gen()}};
  program.workdir = *text_gen();
  program.host = HostLimits{*rc::gen::arbitrary<std::int64_t>(), Bytes(*amount_gen()), kUnlimited};
  program.submitter_uid = *rc::gen::arbitrary<std::uint32_t>();
  program.idempotency_key = *text_gen();
  program.request_hash = *text_gen();
  program.submitter_token = *rc::gen::inRange<std::uint64_t>(0, 9);
  program.kind = static_cast<JobKind>(*rc::gen::inRange(0, 2));
  program.token_hash = *text_gen();
  return program;
}

inline TenantExtras extras() {
  TenantExtras extras;
  extras.uid = maybe(rc::gen::arbitrary<std::uint32_t>());
  extras.allocated_uid = maybe(rc::gen::arbitrary<std::uint32_t>());
  extras.members = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
  extras.job_defaults = host_doc();
  return extras;
}

inline JobId job_id() {
  return JobId(*rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62));
}

inline std::vector<NpuIndex> npu_indices() {
  std::vector<NpuIndex> result;
  for (const std::uint32_t n :
       *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 99))) {
    result.emplace_back(n);
  }
  return result;
}

inline Role role() {
  return static_cast<Role>(*rc::gen::inRange(0, 3));
}

inline std::uint64_t token_number() {
  return *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 62);
}

inline TokenRequest token_request() {
  TokenRequest request;
  request.name = *name_gen();
  request.role = role();
  if (request.role == Role::kTenant) request.tenant = *name_gen();
  request.lifetime = *rc::gen::arbitrary<bool>() ? Lifetime{} : Lifetime{*duration_gen()};
  return request;
}

inline TokenRotation token_rotation() {
  TokenRotation rotation;
  rotation.grace_ms = *duration_gen();
  if (*rc::gen::arbitrary<bool>()) rotation.lifetime = Lifetime{*duration_gen()};
  return rotation;
}

inline TokenView token_view() {
  TokenView view;
  view.id = "t-" + std::to_string(*rc::gen::inRange(1, 1'000'000));
  view.name = *name_gen();
  view.role = role();
  view.tenant = *text_gen();
  view.state = static_cast<TokenState>(*rc::gen::inRange(0, 3));
  view.created_at = *time_gen();
  view.created_by = *text_gen();
  view.rotated_at = maybe(time_gen());
  view.expires_at = maybe(time_gen());
  view.revoked_at = maybe(time_gen());
  view.old_secret_until = maybe(time_gen());
  view.last_used_at = maybe(time_gen());
  view.secret = *text_gen();
  return view;
}

inline JournalRecord service_record(std::size_t alternative) {
  switch (alternative) {
    case 12:
      return AttemptPrepared{
          job_id(),
          3,
          {*rc::gen::inRange(0, 4'194'304), *rc::gen::inRange<std::uint64_t>(0, 1ULL << 62), *text_gen()}};
    case 13:
      return JobForgotten{job_id()};
    case 14:
      return IdempotentAnswer{
          *rc::gen::arbitrary<std::uint32_t>(),  *text_gen(), *text_gen(), 201, *text_gen(),
          *rc::gen::inRange<std::uint64_t>(0, 9)};
    case 15:
      return DaemonStarted{*text_gen(), *text_gen()};
    case 16:
      return TokenCreated{token_number(),
                          *name_gen(),
                          role(),
                          *rc::gen::arbitrary<bool>() ? std::optional(TenantId(3)) : std::nullopt,
                          *text_gen(),
                          *text_gen(),
                          Lifetime{*duration_gen()},
                          maybe(time_gen()),
                          *text_gen()};
    case 17:
      return TokenRotated{token_number(),    *text_gen(),       Lifetime{kUnlimited},
                          maybe(time_gen()), maybe(time_gen()), *text_gen()};
    case 18:
      return TokenRevoked{token_number(), *text_gen()};
    case 19:
      return SliceOrdered{
          job_id(), 2, 7, *rc::gen::arbitrary<std::uint32_t>(), *text_gen(), *rc::gen::inRange(-1, 16)};
    case 20:
      return SliceMade{job_id(), 2, *rc::gen::arbitrary<std::uint32_t>()};
    default:
      return SliceReturned{job_id(), 2, *rc::gen::arbitrary<std::uint32_t>()};
  }
}

inline std::optional<SlicePlacement> slice_placement() {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return SlicePlacement{*text_gen(), *rc::gen::inRange(-1, 16), Bytes(*amount_gen()), Bytes(*amount_gen()),
                        *rc::gen::arbitrary<std::int32_t>()};
}

// The n-th alternative of JournalRecord with arbitrary contents.
inline JournalRecord record(std::size_t alternative) {
  const std::int32_t attempt = *rc::gen::arbitrary<std::int32_t>();
  switch (alternative) {
    case 0:
      return SettingsChanged{*rc::gen::arbitrary<std::int64_t>(), *rc::gen::arbitrary<bool>(),
                             static_cast<SliceCount>(*rc::gen::inRange(0, 2))};
    case 1:
      return NodeReported{
          *text_gen(),
          {{*rc::gen::arbitrary<std::uint32_t>(), *text_gen(), Bytes(*amount_gen()), 20, *health_gen()},
           {7,
            "910B4",
            Bytes::gib(32),
            20,
            Health::kOk,
            *rc::gen::arbitrary<bool>(),
            *text_gen(),
            {{100, *text_gen(), *rc::gen::inRange(-1, 4), *rc::gen::arbitrary<bool>()}, {}}}}};
    case 2:
      return TenantPutRecord{{TenantId(3), {*name_gen(), *text_gen(), quota()}}, extras()};
    case 3:
      return TenantDeleted{TenantId(*rc::gen::inRange<std::uint32_t>(0, 4'000'000'000U))};
    case 4:
      return JobSubmittedRecord{{job_spec()}, program()};
    case 5:
      return JobCancelledRecord{{job_id()},
                                maybe(rc::gen::arbitrary<std::uint32_t>()),
                                *text_gen(),
                                *rc::gen::inRange<std::uint64_t>(0, 9)};
    case 6:
      return AttemptRunning{job_id(), attempt};
    case 7:
      return AttemptEndedRecord{{job_id(), attempt, *outcome_gen(), *rc::gen::arbitrary<bool>()},
                                maybe(count_gen()),
                                maybe(count_gen()),
                                *text_gen(),
                                *rc::gen::arbitrary<bool>()};
    case 8:
      return AllocationObserved{job_spec(), attempt, npu_indices(), slice_placement()};
    case 9:
      return JobStarted{job_id(), attempt, npu_indices(), slice_placement()};
    case 10:
      return JobWaits{job_id(), *reason_code_gen()};
    case 11:
      return JobRefused{job_id(), *reason_code_gen()};
    default:
      return service_record(alternative);
  }
}

}  // namespace tangram::wire::test

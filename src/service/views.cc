#include "service/views.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/invariant.h"
#include "service/device_use.h"
#include "wire/sentences.h"

namespace tangram::service {
namespace {

using wire::format_job_id;
using wire::Language;

std::optional<std::int64_t> limited(std::int64_t value) {
  if (value >= kUnlimited) return std::nullopt;
  return value;
}

std::optional<Bytes> asked_memory(const Request& request) {
  if (request.memory_per_npu.count <= 0) return std::nullopt;
  return request.memory_per_npu;
}

// As the job's own tenant may know them: a job's reason is read by whoever may see the job.
wire::Names names_for(const State& state, const JobSpec& spec) {
  Caller tenant;
  tenant.kind = Caller::Kind::kTenant;
  tenant.tenant = spec.tenant;
  return names_of(state, tenant);
}

std::optional<wire::ReasonView> waiting_reason(const State& state, const JobStatus& status,
                                               Language language) {
  if (status.state != JobState::kWaiting) return std::nullopt;
  const auto blocker = state.core().blocker(status.spec, status.reason);
  if (!blocker) return wire::make_reason(status.reason, language);
  return wire::make_reason(status.spec, *blocker, names_for(state, status.spec), language);
}

std::vector<std::uint32_t> physical_ids(const Scheduler& core, const std::vector<NpuIndex>& held) {
  std::vector<std::uint32_t> ids;
  if (held.empty()) return ids;
  for (const NpuView& npu : core.npus()) {
    if (std::find(held.begin(), held.end(), npu.index) != held.end()) ids.push_back(npu.report.physical_id);
  }
  return ids;
}

std::optional<std::int32_t> vgroup_of(std::int32_t vgroup) {
  if (vgroup == kNoVgroup) return std::nullopt;
  return vgroup;
}

// Drivers tell a 0 of chips that have no such groups. One that the catalogue does not know may have them.
bool has_vgroups(const Catalog& catalog, const NpuReport& report) {
  return std::ranges::none_of(catalog.chips(), [&report](const Catalog::Chip& chip) {
    return chip.model.name == report.template_set && chip.model.vgroups == 0;
  });
}

bool does_not_show(const DeviceNpu* reading, std::uint32_t id) {
  if (reading == nullptr || !reading->slicing.slices.valid) return false;
  const std::vector<DeviceSlice>& slices = reading->slicing.slices.value;
  return std::none_of(slices.begin(), slices.end(),
                      [id](const DeviceSlice& slice) { return slice.id == id; });
}

// Those of jobs first. Whose they are is for who may see the job; that they are there is no secret.
std::vector<wire::NpuSliceView> slices_of(const State& state, const Caller& caller, const NpuView& npu,
                                          const DeviceNpu* reading) {
  const wire::Names names = names_of(state);
  std::vector<wire::NpuSliceView> slices;
  for (const NpuView::Slice& slice : npu.slices) {
    wire::NpuSliceView& view = slices.emplace_back();
    view.template_name = slice.placement.template_name;
    view.vgroup = vgroup_of(slice.placement.vgroup);
    view.memory = slice.placement.memory;
    view.usable_memory = slice.placement.usable_memory;
    view.ai_cores = slice.placement.ai_cores;
    view.id = state.slice_of(slice.job);
    const auto status = state.core().job(slice.job);
    if (!status || !may_see(state, caller, status->spec.tenant)) continue;
    view.tenant = names.tenant(status->spec.tenant);
    view.job = format_job_id(slice.job);
    view.job_name = names.job(slice.job);
    view.slice_requested = slice_request_of(status->spec.request);
  }
  const bool vgroups = npu.report.strays.empty() || has_vgroups(*state.core().catalog(), npu.report);
  for (const StraySlice& stray : npu.report.strays) {
    wire::NpuSliceView& view = slices.emplace_back();
    view.template_name = stray.template_name;
    if (vgroups) view.vgroup = vgroup_of(stray.vgroup);
    view.id = stray.id;
    // One without a template that nothing uses is the trace of a refused cut, and nobody else's either.
    const auto own = state.slices().find(stray.id);
    view.residual =
        own != state.slices().end() ? own->second.ended : stray.residual && stray.template_name.empty();
    view.unseen = view.residual && !stray.template_name.empty() && does_not_show(reading, stray.id);
  }
  return slices;
}

wire::JobView view_of(const JobStatus& status, const wire::JobProgram& program, std::string tenant) {
  const JobSpec& spec = status.spec;
  wire::JobView view;
  view.id = format_job_id(spec.id);
  view.kind = program.kind;
  view.name = program.name;
  view.tenant = std::move(tenant);
  view.priority = spec.priority;
  view.state = status.state;
  view.npus_requested = spec.request.npus;
  view.slice_requested = slice_request_of(spec.request);
  if (!view.slice_requested) view.memory_per_npu = asked_memory(spec.request);
  if (status.slice) {
    view.slice = wire::SliceView{status.slice->template_name,     status.slice->memory,
                                 status.slice->usable_memory,     status.slice->ai_cores,
                                 vgroup_of(status.slice->vgroup), std::nullopt};
  }
  view.bandwidth_bps = spec.bandwidth_bps;
  view.time_limit_ms = limited(spec.time_limit_ms);
  view.no_wait = spec.no_wait;
  view.restart = spec.restart;
  view.restarts_max = spec.restarts_max;
  view.restarts = status.restarts;
  view.attempt = status.attempt;
  view.labels = program.labels;
  view.command = program.command;
  view.workdir = program.workdir;
  view.submitted_at = status.submitted_at;
  if (status.started_at.value > 0) view.started_at = status.started_at;
  return view;
}

wire::JobView ended_view(const EndedJob& ended, Language language) {
  wire::JobView view = view_of(ended.status, *ended.program, ended.tenant);
  view.npus = ended.npus;
  view.ended_at = ended.ended_at;
  view.outcome = ended.outcome;
  view.exit_status = ended.exit_status;
  view.signal = ended.signal;
  view.message = wire::translated(ended.message, language);
  if (ended.refusal == ReasonCode::kNone) return view;
  view.reason = wire::make_reason(ended.refusal, language);
  view.message = view.reason->message;
  return view;
}

}  // namespace

wire::Names names_of(const State& state) {
  wire::Names names;
  names.tenant = [&state](TenantId id) {
    const auto tenant = state.core().tenant(id);
    return tenant ? tenant->spec.name : std::string();
  };
  names.job = [&state](JobId id) {
    if (const LiveJob* live = state.live(id)) return live->program->name;
    if (const auto ended = state.ended(id)) return ended->program->name;
    return std::string();
  };
  names.npu = [&state](NpuIndex index) {
    const auto npu = state.core().npu(index);
    return npu ? "NPU " + std::to_string(npu->report.physical_id) : std::string();
  };
  return names;
}

wire::Names names_of(const State& state, const Caller& caller) {
  wire::Names names;
  names.tenant = [all = names_of(state), &state, caller](TenantId id) {
    const bool above = !caller.sees_all() && state.is_within(caller.tenant, id);
    return above || may_see(state, caller, id) ? all.tenant(id) : std::string();
  };
  names.job = [all = names_of(state), &state, caller](JobId id) {
    const auto status = state.core().job(id);
    return status && may_see(state, caller, status->spec.tenant) ? all.job(id) : std::string();
  };
  // NPUs and their health are no secret: status shows them to every tenant.
  names.npu = names_of(state).npu;
  return names;
}

std::optional<wire::SliceRequest> slice_request_of(const Request& request) {
  if (request.kind != RequestKind::kSlice) return std::nullopt;
  return wire::SliceRequest{asked_memory(request), request.ai_cores};
}

wire::JobView make_job_view(const State& state, JobId job, Language language, std::int64_t position) {
  if (const auto ended = state.ended(job)) return ended_view(*ended, language);
  const auto status = state.core().job(job);
  const LiveJob* live = state.live(job);
  TG_ASSERT(status && live != nullptr, "a view of a job that is not there");
  const auto tenant = state.core().tenant(status->spec.tenant);
  wire::JobView view = view_of(*status, *live->program, tenant ? tenant->spec.name : std::string());
  view.npus = physical_ids(state.core(), status->npus);
  if (view.slice) view.slice->id = state.slice_of(job);
  view.reason = waiting_reason(state, *status, language);
  if (position > 0) view.position = position;
  if (!live->last_message.empty()) view.message = wire::translated(live->last_message, language);
  return view;
}

wire::StatusView make_status(const State& state, const Options& options, const Caller& caller,
                             const DeviceReadings& readings, const std::vector<std::string>& missing_walls) {
  wire::StatusView view;
  view.version = options.version;
  view.node = options.node;
  view.driver_version = readings.driver_version;
  view.devices_available = readings.available;
  view.devices_note =
      wire::translated(readings.available ? readings.driver.note : readings.note, caller.language);
  for (const std::string& wall : missing_walls)
    view.missing_walls.push_back(wire::translated(wall, caller.language));
  for (const NpuView& npu : state.core().npus()) {
    wire::NpuStatusView entry;
    entry.npu = npu.report.physical_id;
    entry.chip = npu.report.chip;
    entry.health = npu.report.health;
    entry.mode = npu.mode;
    if (npu.report.memory.count > 0) entry.memory_total = npu.report.memory;
    if (npu.report.ai_cores > 0) entry.ai_cores = npu.report.ai_cores;
    const auto reading = std::find_if(readings.npus.begin(), readings.npus.end(),
                                      [&](const DeviceNpu& n) { return n.physical_id == entry.npu; });
    if (reading != readings.npus.end()) {
      entry.health_note = wire::translated(reading->health_note, caller.language);
      if (reading->memory_used.valid) entry.memory_used = reading->memory_used.value;
      if (reading->ai_core_percent.valid) entry.ai_core_percent = reading->ai_core_percent.value;
      if (reading->temperature_celsius.valid) entry.temperature_celsius = reading->temperature_celsius.value;
      if (reading->power_milliwatt.valid) entry.power_milliwatt = reading->power_milliwatt.value;
    }
    if (npu.mode == NpuMode::kFree && npu.report.health == Health::kOk) ++view.npus_free;
    const auto status = npu.job.valid() ? state.core().job(npu.job) : std::nullopt;
    if (status && may_see(state, caller, status->spec.tenant)) {
      const wire::Names names = names_of(state);
      entry.tenant = names.tenant(status->spec.tenant);
      entry.job = format_job_id(npu.job);
      entry.job_name = names.job(npu.job);
      entry.slice_requested = slice_request_of(status->spec.request);
      entry.memory_used_by_job = memory_used_by(readings, entry.npu, entry.job);
    }
    entry.slices = slices_of(state, caller, npu, reading == readings.npus.end() ? nullptr : &*reading);
    view.npus.push_back(std::move(entry));
  }
  view.jobs_running = static_cast<std::int64_t>(state.core().active_count());
  view.jobs_queued = static_cast<std::int64_t>(state.core().queue_length());
  return view;
}

wire::QuotaView make_quota_view(const State& state, TenantId tenant, Language language) {
  const auto found = state.core().tenant(tenant);
  TG_ASSERT(found.has_value(), "a view of a tenant that is not there");
  wire::QuotaView view;
  view.tenant.name = found->spec.name;
  view.tenant.parent = found->spec.parent;
  view.tenant.quota = found->spec.quota;
  if (const wire::TenantExtras* extras = state.extras(tenant)) {
    view.tenant.uid = extras->uid;
    view.tenant.members = extras->members;
    view.tenant.job_defaults = extras->job_defaults;
    if (!extras->uid && extras->allocated_uid) {
      view.notes.push_back("jobs run as uid " + std::to_string(*extras->allocated_uid));
    }
  }
  view.used = found->used;
  view.queued = found->queued;
  if (found->spec.quota.bandwidth_bps < kUnlimited) {
    view.notes.emplace_back("bandwidth is booked, not shaped");
  }
  for (std::string& note : view.notes) note = wire::translated(note, language);
  return view;
}

Error reword_refusal(const State& state, const JobSpec& spec, Error error, Language language) {
  const auto code = wire::find_reason_code(error.reason);
  const auto blocker = code ? state.core().blocker(spec, *code) : std::nullopt;
  if (!blocker || !blocker->tenant.valid()) return error;  // no quota: the core says it best
  wire::ReasonView reason = wire::make_reason(spec, *blocker, names_for(state, spec), language);
  error.message = std::move(reason.message);
  error.hint = std::move(reason.hint);
  error.details = std::move(reason.details);
  return error;
}

Error make_refusal(const State& state, const EndedJob& refused, Language language) {
  const JobSpec& spec = refused.status.spec;
  Blocker code_only;
  code_only.reason = refused.refusal;
  const Blocker blocker = state.core().blocker(spec, refused.refusal).value_or(code_only);
  Error error = wire::make_refusal(spec, blocker, names_for(state, spec), language);
  error.details.emplace_back("job", format_job_id(spec.id));
  return error;
}

Result<wire::JobView> decided_view(const State& state, const Result<JobId>& job, Language language) {
  if (!job) return fail(wire::localised(job.error(), language));
  const auto ended = state.ended(*job);
  if (ended && ended->outcome == Outcome::kRefused) return fail(make_refusal(state, *ended, language));
  return make_job_view(state, *job, language);
}

Error job_ended(JobId job, const EndedJob& ended) {
  const bool has_log = ended.program->kind == wire::JobKind::kProgram;
  const std::string id = format_job_id(job);
  return {Code::kFailedPrecondition,
          "job.ended",
          "job " + id + " has ended: " + std::string(to_string(ended.outcome)),
          has_log ? "`tangram logs " + id + "` shows its output" : "`tangram describe " + id + "` tells why",
          {},
          nullptr};
}

wire::WhyView make_settled_why(wire::JobView job, bool is_cancelled, std::int64_t queue_length,
                               Language language) {
  wire::WhyView why;
  why.queue_length = queue_length;
  why.verdict = wire::make_verdict(job, is_cancelled, language);
  why.job = std::move(job);
  return why;
}

}  // namespace tangram::service

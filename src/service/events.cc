#include "service/events.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/invariant.h"
#include "service/access.h"
#include "service/token_text.h"
#include "service/views.h"
#include "wire/event.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

using wire::EventType;
using wire::EventView;
using wire::Language;

std::vector<std::uint32_t> numbers(const std::vector<TenantId>& path) {
  std::vector<std::uint32_t> ids;
  ids.reserve(path.size());
  for (const TenantId id : path) ids.push_back(id.value);
  return ids;
}

std::string name_of(const State& state, TenantId id) {
  const auto tenant = state.core().tenant(id);
  return tenant ? tenant->spec.name : std::string();
}

// The job of which the record speaks.
std::optional<JobId> job_of(const wire::JournalRecord& record) {
  return std::visit(
      []<class T>(const T& value) -> std::optional<JobId> {
        if constexpr (requires { value.job; }) {
          return value.job;
        } else if constexpr (requires { value.input.job; }) {
          return value.input.job;
        } else if constexpr (requires { value.input.spec.tenant; }) {
          return value.input.spec.id;
        } else if constexpr (requires { value.spec.tenant; }) {
          return value.spec.id;
        } else {
          return std::nullopt;
        }
      },
      record);
}

std::optional<TenantId> tenant_of(const wire::JournalRecord& record) {
  if (const auto* put = std::get_if<wire::TenantPutRecord>(&record)) return put->input.id;
  if (const auto* deleted = std::get_if<TenantDeleted>(&record)) return deleted->id;
  return std::nullopt;
}

std::vector<NpuReport> known_npus(const Scheduler& core, const std::string& node) {
  std::vector<NpuReport> known;
  for (const NpuView& npu : core.npus()) {
    if (core.node_name(npu.node) == node) known.push_back(npu.report);
  }
  return known;
}

const NpuReport* find_npu(const std::vector<NpuReport>& npus, std::uint32_t physical_id) {
  const auto found = std::find_if(npus.begin(), npus.end(),
                                  [&](const NpuReport& n) { return n.physical_id == physical_id; });
  return found == npus.end() ? nullptr : &*found;
}

bool is_there(const NpuReport* npu) {
  return npu != nullptr && npu->health != Health::kAbsent;
}

std::vector<std::string> changed_fields(const TenantSpec& before, const wire::TenantExtras& extras_before,
                                        const wire::TenantPutRecord& now) {
  std::vector<std::string> fields;
  const auto note = [&](bool same, std::string_view field) {
    if (!same) fields.emplace_back(field);
  };
  const Quota& was = before.quota;
  const Quota& is = now.input.spec.quota;
  const auto note_quota = [&](bool same, Dimension dimension) {
    note(same, "quota." + std::string(to_string(dimension)));
  };
  note(before.parent == now.input.spec.parent, "parent");
  note_quota(was.npus == is.npus, Dimension::kNpus);
  note_quota(was.memory_per_npu == is.memory_per_npu, Dimension::kMemoryPerNpu);
  note_quota(was.memory_total == is.memory_total, Dimension::kMemoryTotal);
  note_quota(was.ai_cores == is.ai_cores, Dimension::kAiCores);
  note_quota(was.running_jobs == is.running_jobs, Dimension::kRunningJobs);
  note_quota(was.run_time_ms == is.run_time_ms, Dimension::kRunTime);
  note_quota(was.priorities == is.priorities, Dimension::kPriorities);
  note_quota(was.bandwidth_bps == is.bandwidth_bps, Dimension::kBandwidth);
  note(extras_before.uid == now.extras.uid, "uid");
  note(extras_before.members == now.extras.members, "members");
  note(extras_before.job_defaults == now.extras.job_defaults, "jobDefaults");
  return fields;
}

// One per record: each alternative has its function.
class Narrator {
 public:
  Narrator(const EventSubject& before, const State& after, std::uint64_t sequence, TimeMs at)
      : before_(before), after_(after), sequence_(sequence), at_(at) {}

  void operator()(const wire::JobSubmittedRecord& record) {
    const JobSpec& spec = record.input.spec;
    const auto status = after_.core().job(spec.id);
    TG_ASSERT(status.has_value(), "a submitted job is there");
    EventView view = of_job(EventType::kJobSubmitted, spec.id);
    view.job_name = record.program.name;
    view.kind = record.program.kind;
    view.priority = spec.priority;
    view.npus_requested = spec.request.npus;
    view.slice_requested = slice_request_of(spec.request);
    view.state = status->state;
    // Without names and numbers: a job that joins others was not looked at.
    if (status->state == JobState::kWaiting) {
      view.reason = wire::make_reason(status->reason, Language::kEnglish);
    }
    tell(std::move(view), job_topic(spec.id), numbers(after_.path_of(spec.tenant)),
         name_of(after_, spec.tenant), queue_topic(spec));
  }

  void operator()(const JobWaits& record) {
    const JobSpec& spec = subject().spec;
    EventView view = of_job(EventType::kJobWaiting, record.job);
    view.state = JobState::kWaiting;
    view.jobs = after_.core().queued_alike(record.job);
    view.reason = reason_of(spec, record.reason);
    tell_job(std::move(view), queue_topic(spec));
  }

  void operator()(const JobStarted& record) {
    EventView view = of_job(EventType::kJobStarting, record.job);
    view.state = JobState::kStarting;
    view.attempt = record.attempt;
    view.npus = physical_ids(record.npus);
    view.template_name = template_name_of(record.slice);
    tell_job(std::move(view), job_topic(record.job));
    tell_npus(EventType::kNpuAllocated, record.job, record.attempt, record.npus, record.slice);
  }

  void operator()(const AttemptRunning& record) {
    EventView view = of_job(EventType::kJobRunning, record.job);
    view.state = JobState::kRunning;
    view.attempt = record.attempt;
    view.npus = physical_ids(subject().npus);
    view.template_name = template_name_of(subject().slice);
    tell_job(std::move(view), job_topic(record.job));
  }

  void operator()(const wire::AttemptEndedRecord& record) {
    const JobId job = record.input.job;
    const auto requeued = after_.core().job(job);
    EventView view = of_job(requeued ? EventType::kJobRequeued : EventType::kJobEnded, job);
    view.state = requeued ? requeued->state : JobState::kEnded;
    view.attempt = record.input.attempt;
    view.npus = physical_ids(subject().npus);
    view.outcome = record.input.outcome;
    view.exit_status = record.exit_status;
    view.signal = record.signal;
    view.message = record.message;
    tell_job(std::move(view), job_topic(job));
    tell_npus(EventType::kNpuReleased, job, record.input.attempt, subject().npus, subject().slice);
  }

  void operator()(const wire::JobCancelledRecord& record) {
    const JobId job = record.input.job;
    const bool runs = after_.core().job(job).has_value();
    EventView view = of_job(runs ? EventType::kJobStopping : EventType::kJobEnded, job);
    view.state = runs ? subject().state : JobState::kEnded;
    view.attempt = subject().attempt;
    if (runs) view.npus = physical_ids(subject().npus);
    view.by_uid = record.by_uid;
    if (record.by_token != 0) view.by_token = format_token_id(record.by_token);
    view.message = record.message;
    if (const auto ended = after_.ended(job)) {
      view.outcome = ended->outcome;
      view.message = ended->message;
    }
    tell_job(std::move(view), job_topic(job));
  }

  void operator()(const JobRefused& record) {
    EventView view = of_job(EventType::kJobRefused, record.job);
    view.state = JobState::kEnded;
    view.outcome = Outcome::kRefused;
    view.reason = reason_of(subject().spec, record.reason);
    tell_job(std::move(view), job_topic(record.job));
  }

  void operator()(const wire::JobForgotten& record) {
    if (!before_.job) return;
    tell_job(of_job(EventType::kJobForgotten, record.job), job_topic(record.job));
  }

  void operator()(const AllocationObserved& record) {
    const TenantId tenant = record.spec.tenant;
    for (const NpuIndex index : record.npus) {
      EventView view = of_npu(EventType::kNpuAllocated, index, record.spec.id, record.attempt);
      tell(std::move(view), npu_topic(physical_id(index)), numbers(after_.path_of(tenant)),
           name_of(after_, tenant));
    }
  }

  void operator()(const wire::TenantPutRecord& record) {
    EventView view = blank(before_.tenant ? EventType::kTenantChanged : EventType::kTenantCreated);
    view.quota = record.input.spec.quota;
    if (before_.tenant) {
      view.changed = changed_fields(*before_.tenant, before_.extras, record);
      if (view.changed.empty()) return;
    }
    const TenantId id = record.input.id;
    tell(std::move(view), "", numbers(after_.path_of(id)), record.input.spec.name);
  }

  void operator()(const TenantDeleted&) {
    tell(blank(EventType::kTenantDeleted), "", before_.path, before_.tenant_name);
  }

  void operator()(const NodeReported& record) {
    for (const NpuReport& now : record.npus) {
      const NpuReport* const was = find_npu(before_.npus, now.physical_id);
      if (!is_there(was)) {
        tell_health(EventType::kNpuAppeared, record.node, now, was);
      } else if (now.health != was->health) {
        tell_health(EventType::kNpuHealth, record.node, now, was);
      }
    }
    for (const NpuReport& was : before_.npus) {
      if (!is_there(&was) || find_npu(record.npus, was.physical_id) != nullptr) continue;
      NpuReport now = was;
      now.health = Health::kAbsent;
      tell_health(EventType::kNpuGone, record.node, now, &was);
    }
  }

  void operator()(const wire::DaemonStarted& record) {
    EventView view = blank(EventType::kDaemonStarted);
    view.version = record.version;
    tell(std::move(view), "", {}, "");
  }

  void operator()(const wire::SliceMade& record) {
    const SliceEntry& entry = after_.slices().at(record.slice);
    tell_slice(EventType::kSliceMade, record.slice, entry);
  }

  void operator()(const wire::SliceReturned& record) {
    TG_ASSERT(before_.slice.has_value(), "a record speaks of a slice that is not there");
    tell_slice(EventType::kSliceReturned, record.slice, *before_.slice);
  }

  // Nothing that anybody watches: that a slice is given is told with its job's start.
  void operator()(const wire::SliceOrdered&) {}

  // Nothing that anybody watches.
  void operator()(const SettingsChanged&) {}
  void operator()(const wire::AttemptPrepared&) {}
  void operator()(const wire::IdempotentAnswer&) {}

  // Who may come in is the operator's business alone; the audit log tells it.
  void operator()(const wire::TokenCreated&) {}
  void operator()(const wire::TokenRotated&) {}
  void operator()(const wire::TokenRevoked&) {}

  std::vector<NewEvent> take() { return std::move(events_); }

 private:
  const JobStatus& subject() const {
    TG_ASSERT(before_.job.has_value(), "a record speaks of a job that is not there");
    return *before_.job;
  }

  static EventView blank(EventType type) {
    EventView view;
    view.type = to_string(type);
    return view;
  }

  EventView of_job(EventType type, JobId job) const {
    EventView view = blank(type);
    view.job = wire::format_job_id(job);
    view.job_name = before_.job_name;
    return view;
  }

  EventView of_npu(EventType type, NpuIndex index, JobId job, std::int32_t attempt) const {
    const auto npu = after_.core().npu(index);
    TG_ASSERT(npu.has_value(), "a record speaks of an NPU that is not there");
    EventView view = of_job(type, job);
    view.attempt = attempt;
    view.npu = npu->report.physical_id;
    view.node = after_.core().node_name(npu->node);
    return view;
  }

  std::uint32_t physical_id(NpuIndex index) const {
    const auto npu = after_.core().npu(index);
    TG_ASSERT(npu.has_value(), "a record speaks of an NPU that is not there");
    return npu->report.physical_id;
  }

  // One text for all readers: with the names that the tenant itself may know.
  wire::ReasonView reason_of(const JobSpec& spec, ReasonCode code) const {
    Caller tenant;
    tenant.kind = Caller::Kind::kTenant;
    tenant.tenant = spec.tenant;
    const auto blocker = after_.core().blocker(spec, code);
    return blocker ? wire::make_reason(spec, *blocker, names_of(after_, tenant), Language::kEnglish)
                   : wire::make_reason(code, Language::kEnglish);
  }

  std::vector<std::uint32_t> physical_ids(const std::vector<NpuIndex>& held) const {
    std::vector<std::uint32_t> ids;
    ids.reserve(held.size());
    for (const NpuIndex index : held) {
      if (const auto npu = after_.core().npu(index)) ids.push_back(npu->report.physical_id);
    }
    return ids;
  }

  void tell(EventView view, std::string topic, std::vector<std::uint32_t> tenants, std::string tenant,
            std::string group = {}) {
    view.cursor = wire::format_cursor({sequence_, static_cast<std::uint32_t>(events_.size())});
    view.at = at_;
    view.tenant = std::move(tenant);
    std::string body = wire::write(view);
    events_.push_back(
        {std::move(view.type), std::move(tenants), std::move(topic), std::move(group), std::move(body)});
  }

  void tell_job(EventView view, std::string topic) {
    tell(std::move(view), std::move(topic), before_.path, before_.tenant_name);
  }

  static std::string template_name_of(const std::optional<SlicePlacement>& slice) {
    return slice ? slice->template_name : std::string();
  }

  void tell_npus(EventType type, JobId job, std::int32_t attempt, const std::vector<NpuIndex>& npus,
                 const std::optional<SlicePlacement>& slice) {
    for (const NpuIndex index : npus) {
      EventView view = of_npu(type, index, job, attempt);
      view.template_name = template_name_of(slice);
      tell_job(std::move(view), npu_topic(physical_id(index)));
    }
  }

  void tell_slice(EventType type, std::uint32_t id, const SliceEntry& entry) {
    EventView view = of_npu(type, entry.npu, entry.job, entry.attempt);
    view.slice = id;
    view.template_name = entry.template_name;
    // A job may be forgotten before its slice is returned: what is left is news of the NPU.
    if (!before_.job) {
      view.job.clear();
      view.attempt = 0;
    }
    tell(std::move(view), npu_topic(entry.physical_id), before_.path, before_.tenant_name,
         job_topic(entry.job));
  }

  void tell_health(EventType type, const std::string& node, const NpuReport& now, const NpuReport* was) {
    EventView view = blank(type);
    view.npu = now.physical_id;
    view.node = node;
    view.chip = now.chip;
    view.health = now.health;
    if (was != nullptr) view.health_before = was->health;
    tell(std::move(view), npu_topic(now.physical_id), {}, "");
  }

  const EventSubject& before_;
  const State& after_;
  const std::uint64_t sequence_;
  const TimeMs at_;
  std::vector<NewEvent> events_;
};

}  // namespace

EventSubject look_before(const State& state, const wire::JournalRecord& record) {
  EventSubject subject;
  std::optional<TenantId> tenant = tenant_of(record);
  if (tenant) {
    if (const auto known = state.core().tenant(*tenant)) subject.tenant = known->spec;
    if (const wire::TenantExtras* extras = state.extras(*tenant)) subject.extras = *extras;
  }
  if (const auto job = job_of(record)) {
    const LiveJob* const live = state.live(*job);
    if (const auto ended = state.ended(*job)) {
      subject.job = ended->status;
      subject.job_name = ended->program->name;
      subject.tenant_name = ended->tenant;
    } else if (live != nullptr) {
      subject.job = state.core().job(*job);
      subject.job_name = live->program->name;
    }
    if (subject.job) tenant = subject.job->spec.tenant;
  }
  if (tenant) {
    subject.path = numbers(state.path_of(*tenant));
    // An ended job's tenant may be gone: the event is still its own.
    if (subject.path.empty() && subject.job) subject.path = {tenant->value};
    if (subject.tenant_name.empty()) subject.tenant_name = name_of(state, *tenant);
  }
  if (const auto* returned = std::get_if<wire::SliceReturned>(&record)) {
    const auto slice = state.slices().find(returned->slice);
    if (slice != state.slices().end()) subject.slice = slice->second;
  }
  if (const auto* reported = std::get_if<NodeReported>(&record)) {
    subject.npus = known_npus(state.core(), reported->node);
  }
  return subject;
}

std::vector<NewEvent> make_events(const EventSubject& before, const State& after,
                                  const wire::JournalRecord& record, std::uint64_t sequence, TimeMs at) {
  Narrator narrator(before, after, sequence, at);
  std::visit(narrator, record);
  return narrator.take();
}

std::string job_topic(JobId job) {
  return wire::format_job_id(job);
}

std::string npu_topic(std::uint32_t physical_id) {
  return "npu-" + std::to_string(physical_id);
}

std::string queue_topic(const JobSpec& spec) {
  const Request& request = spec.request;
  std::string topic = "queue";
  for (const std::int64_t part :
       {std::int64_t{spec.tenant.value}, static_cast<std::int64_t>(spec.priority),
        static_cast<std::int64_t>(request.kind), std::int64_t{request.npus}, request.memory_per_npu.count,
        std::int64_t{request.ai_cores}, std::int64_t{request.core_percent}, spec.bandwidth_bps}) {
    topic += '-' + std::to_string(part);
  }
  return topic;
}

}  // namespace tangram::service

// Tables of what the service answers.
#include <limits>
#include <string>

#include "wire/codecs.h"
#include "wire/schema.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

Codec<std::int64_t> count() {
  return int64_range(0, kIntegerMax);
}
Codec<std::uint32_t> npu_id() {
  return uint32_range(0, std::numeric_limits<std::uint32_t>::max());
}
Codec<std::map<std::string, std::string>> labels() {
  return text_map(kAny, "labels", nullptr);
}

}  // namespace

const Table<ReasonView>& reason_view_table() {
  static const Table<ReasonView> table{
      "Reason",
      "Why a job waits or was refused.",
      {
          required("code", &ReasonView::code, text(), "stable token, \"quota.npus.exceeded\""),
          shown("message", &ReasonView::message, text(), "one sentence with names and numbers"),
          optional("hint", &ReasonView::hint, text(), "what to do next"),
          optional("details", &ReasonView::details, details_map(),
                   "the numbers: asked, used, limit, tenant, …"),
      },
      nullptr};
  return table;
}

const Table<SliceView>& slice_view_table() {
  static const Table<SliceView> table{
      "Slice",
      "A slice (vNPU) that a job has.",
      {
          required("template", &SliceView::template_name, text(), "as the driver knows it, \"vir04\""),
          shown("memory", &SliceView::memory, bytes_text(0), "nominal: what is charged"),
          shown("usableMemory", &SliceView::usable_memory, bytes_text(0), "what a program inside finds"),
          shown("aiCores", &SliceView::ai_cores, int32_range(0, std::numeric_limits<std::int32_t>::max()),
                "AI cores"),
          optional("vgroup", &SliceView::vgroup, int32_range(0, std::numeric_limits<std::int32_t>::max()),
                   "of a 310P"),
          optional("id", &SliceView::id, npu_id(), "vNPU id of the driver; left out: the attempt is over"),
      },
      nullptr};
  return table;
}

const Table<JobView>& job_view_table() {
  static const Table<JobView> table{
      "JobView",
      "A job as the service shows it.",
      {
          required("id", &JobView::id, text(), "\"j-17\""),
          optional("kind", &JobView::kind, job_kind_word(),
                   "lease: its holder runs programs of its own; left out: program"),
          shown("name", &JobView::name, text(), "as submitted, or the id"),
          required("tenant", &JobView::tenant, text(), "whose job it is"),
          shown("priority", &JobView::priority, priority_word(), "class of service"),
          required("state", &JobView::state, job_state_word(), "where it stands"),
          optional("reason", &JobView::reason, object(reason_view_table()), "why it waits"),
          optional("position", &JobView::position, count(), "in the queue, from 1"),
          shown("npusRequested", &JobView::npus_requested, count(), "NPUs asked for"),
          optional("memoryPerNpu", &JobView::memory_per_npu, bytes_text(0), "need per NPU"),
          optional("sliceRequested", &JobView::slice_requested, object(slice_request_table()),
                   "a slice of one NPU; left out: whole NPUs"),
          optional("bandwidth", &JobView::bandwidth_bps, rate_text(), "booked"),
          optional("timeLimit", &JobView::time_limit_ms, duration_text(0), "per attempt; left out: none"),
          optional("noWait", &JobView::no_wait, boolean(), "refused instead of waiting"),
          restart_field<JobView>("policy after an attempt that was lost or failed"),
          optional("restarts", &JobView::restarts, int32_range(0, std::numeric_limits<std::int32_t>::max()),
                   "how often it was started again"),
          shown("attempt", &JobView::attempt, int32_range(0, std::numeric_limits<std::int32_t>::max()),
                "the present or last try; 0: none yet"),
          shown("npus", &JobView::npus, list(npu_id(), kAny),
                "physical ids held, or held last; the first is the primary device"),
          optional("slice", &JobView::slice, object(slice_view_table()),
                   "what it has of that NPU; left out: all of it, also where a slice was asked for and no "
                   "template is "
                   "large enough"),
          optional("granted", &JobView::granted, text(),
                   "what it has, or what one that waits for a slice would get: template or NPU, nominal and "
                   "usable memory, and why; one sentence. Not in lists"),
          optional("labels", &JobView::labels, labels(), "free labels"),
          optional("command", &JobView::command, list(text(), kAny),
                   "for the operator and the own tenant only"),
          optional("workdir", &JobView::workdir, text(), "where the program starts"),
          shown("submittedAt", &JobView::submitted_at, time_text(), "when it was submitted"),
          optional("startedAt", &JobView::started_at, time_text(), "when the present or last attempt began"),
          optional("endedAt", &JobView::ended_at, time_text(), "when the job ended"),
          optional("outcome", &JobView::outcome, outcome_word(), "how it ended"),
          optional("exitStatus", &JobView::exit_status, int64_range(kIntegerMin, kIntegerMax),
                   "of the program"),
          optional("signal", &JobView::signal, count(), "that ended the program"),
          optional("message", &JobView::message, text(), "how it ended, one sentence"),
      },
      nullptr};
  return table;
}

const Table<LeaseView>& lease_view_table() {
  static const Table<LeaseView> table{
      "LeaseView",
      "A lease as its holder sees it: an event of its stream.",
      {
          required("job", &LeaseView::job, object(job_view_table()), "the lease as a job"),
          secret(optional("token", &LeaseView::token, text(),
                          "proves who holds it; in the first event of a new lease only")),
          shown("grace", &LeaseView::grace_ms, duration_text(0),
                "how long it outlives a broken connection, or the restart of the daemon"),
          optional("stopping", &LeaseView::stopping, outcome_word(),
                   "its holder is asked to release it, and so it will have ended"),
          optional("releaseBy", &LeaseView::release_by, time_text(), "then it ends in any case"),
      },
      nullptr};
  return table;
}

const Table<JobList>& job_list_table() {
  static const Table<JobList> table{
      "JobList",
      "Answer of GET /v1/jobs.",
      {
          required("items", &JobList::items, list(object(job_view_table()), kAny), "the jobs"),
          optional("next", &JobList::next, text(), "go on with after=<this>; left out: that was all"),
      },
      nullptr};
  return table;
}

const Table<NpuSliceView>& npu_slice_view_table() {
  static const Table<NpuSliceView> table{
      "NpuSlice",
      "A slice that stands on an NPU.",
      {
          optional("template", &NpuSliceView::template_name, text(), "left out: not told"),
          optional("vgroup", &NpuSliceView::vgroup, int32_range(0, std::numeric_limits<std::int32_t>::max()),
                   "of a 310P"),
          optional("memory", &NpuSliceView::memory, bytes_text(0), "nominal, of a job's"),
          optional("usableMemory", &NpuSliceView::usable_memory, bytes_text(0),
                   "what a program inside finds"),
          optional("aiCores", &NpuSliceView::ai_cores, count(), "of a job's"),
          optional("id", &NpuSliceView::id, npu_id(), "vNPU id of the driver"),
          optional("residual", &NpuSliceView::residual, boolean(), "nobody's any more, and not returned yet"),
          optional("unseen", &NpuSliceView::unseen, boolean(),
                   "of those: the last look at the device does not show it; it is looked for again within "
                   "seconds"),
          optional("tenant", &NpuSliceView::tenant, text(), "who holds it; left out: not for this caller"),
          optional("job", &NpuSliceView::job, text(), "id of its job"),
          optional("jobName", &NpuSliceView::job_name, text(), "its name"),
          optional("sliceRequested", &NpuSliceView::slice_requested, object(slice_request_table()),
                   "what the job has asked for"),
      },
      nullptr};
  return table;
}

const Table<NpuStatusView>& npu_status_view_table() {
  static const Table<NpuStatusView> table{
      "NpuStatus",
      "One NPU. What is not known is left out.",
      {
          required("npu", &NpuStatusView::npu, npu_id(), "physical id: N of /dev/davinciN"),
          shown("chip", &NpuStatusView::chip, text(), "model, \"910B4\""),
          shown("health", &NpuStatusView::health, health_word(), "only ok is handed out"),
          optional("healthNote", &NpuStatusView::health_note, text(), "why it is not ok or not known"),
          shown("mode", &NpuStatusView::mode, npu_mode_word(), "what it is used for"),
          optional("memoryTotal", &NpuStatusView::memory_total, bytes_text(0), "device memory"),
          optional("memoryUsed", &NpuStatusView::memory_used, bytes_text(0), "as the device reports it"),
          optional("memoryUsedByJob", &NpuStatusView::memory_used_by_job, bytes_text(0),
                   "by processes of the job that holds it"),
          optional("aiCores", &NpuStatusView::ai_cores, count(), "AI cores of the chip"),
          optional("aiCorePercent", &NpuStatusView::ai_core_percent, count(), "how busy they are"),
          optional("temperatureCelsius", &NpuStatusView::temperature_celsius,
                   int64_range(kIntegerMin, kIntegerMax), "of the chip"),
          optional("powerMilliwatt", &NpuStatusView::power_milliwatt, int64_range(kIntegerMin, kIntegerMax),
                   "of the chip"),
          optional("tenant", &NpuStatusView::tenant, text(),
                   "who holds it; left out: nobody, or not for this caller"),
          optional("job", &NpuStatusView::job, text(), "id of the job that holds it"),
          optional("jobName", &NpuStatusView::job_name, text(), "its name"),
          optional("sliceRequested", &NpuStatusView::slice_requested, object(slice_request_table()),
                   "what the job has asked for, and has got all of the NPU; left out: whole NPUs"),
          optional("slices", &NpuStatusView::slices, list(object(npu_slice_view_table()), kAny),
                   "those of jobs, then those of nobody and of others; left out: it is not cut"),
      },
      nullptr};
  return table;
}

const Table<StatusView>& status_view_table() {
  static const Table<StatusView> table{
      "StatusView",
      "Answer of GET /v1/status.",
      {
          required("version", &StatusView::version, text(), "of the daemon"),
          shown("node", &StatusView::node, text(), "name of the machine"),
          optional("driverVersion", &StatusView::driver_version, text(), "left out: unknown"),
          shown("devicesAvailable", &StatusView::devices_available, boolean(), "whether the driver answers"),
          optional(
              "devicesNote", &StatusView::devices_note, text(),
              "why not, with the remedy; or what to know of a driver that answers: that it is older than "
              "those supported, or that its version is not known"),
          required("npus", &StatusView::npus, list(object(npu_status_view_table()), kAny), "ascending by id"),
          shown("npusFree", &StatusView::npus_free, count(), "free and healthy"),
          shown("jobsRunning", &StatusView::jobs_running, count(), "starting or running"),
          shown("jobsQueued", &StatusView::jobs_queued, count(), "ready or waiting"),
          optional("missingWalls", &StatusView::missing_walls, list(text(), kAny),
                   "isolation that this machine cannot give"),
      },
      nullptr};
  return table;
}

const Table<Usage>& usage_table() {
  static const Table<Usage> table{
      "Usage",
      "What a tenant with its subtree holds at this moment.",
      {
          shown("npus", &Usage::npus, count(), "NPUs"),
          shown("memoryTotal", &Usage::memory_total, bytes_text(0), "device memory"),
          shown("aiCores", &Usage::ai_cores, count(), "AI cores"),
          shown("runningJobs", &Usage::running_jobs, count(), "jobs starting or running"),
          shown("bandwidth", &Usage::bandwidth_bps, rate_text(), "booked"),
      },
      nullptr};
  return table;
}

const Table<QuotaView>& quota_view_table() {
  static const Table<QuotaView> table{
      "QuotaView",
      "One tenant's limits and use.",
      {
          required("tenant", &QuotaView::tenant, object(tenant_table()), "with its limits"),
          required("used", &QuotaView::used, object(usage_table()), "of the subtree"),
          shown("queued", &QuotaView::queued, count(), "jobs of the subtree that wait"),
          optional("notes", &QuotaView::notes, list(text(), kAny), "what to know about these limits"),
      },
      nullptr};
  return table;
}

const Table<QuotaList>& quota_list_table() {
  static const Table<QuotaList> table{
      "QuotaList",
      "Answer of GET /v1/tenants.",
      {required("items", &QuotaList::items, list(object(quota_view_table()), kAny), "the tenants")},
      nullptr};
  return table;
}

const Table<RemedyView>& remedy_view_table() {
  static const Table<RemedyView> table{"Remedy",
                                       "Something that would let a job start.",
                                       {
                                           required("text", &RemedyView::text, text(), "one sentence"),
                                           optional("command", &RemedyView::command, text(), "that does it"),
                                           shown("starts", &RemedyView::starts, boolean(),
                                                 "tried on a copy of the state: the job would start"),
                                       },
                                       nullptr};
  return table;
}

const Table<WhyView>& why_view_table() {
  static const Table<WhyView> table{
      "WhyView",
      "Answer of GET /v1/jobs/{job}/why.",
      {
          required("job", &WhyView::job, object(job_view_table()), "the job"),
          required("verdict", &WhyView::verdict, text(), "one sentence"),
          shown("blockers", &WhyView::blockers, list(object(reason_view_table()), kAny),
                "the decisive one first"),
          shown("remedies", &WhyView::remedies, list(object(remedy_view_table()), kAny), "what would help"),
          optional("position", &WhyView::position, count(), "in the queue, from 1"),
          shown("queueLength", &WhyView::queue_length, count(), "jobs in the queue"),
          optional("estimatedStart", &WhyView::estimated_start, time_text(), "left out: not known"),
          optional("assumption", &WhyView::assumption, text(), "behind the estimate"),
      },
      nullptr};
  return table;
}

const Table<VersionView>& version_view_table() {
  static const Table<VersionView> table{
      "VersionView",
      "Answer of GET /v1/version.",
      {
          required("version", &VersionView::version, text(), "of the daemon"),
          shown("api", &VersionView::api, text(), "\"v1\""),
      },
      nullptr};
  return table;
}

const Table<ApplyItem>& apply_item_table() {
  static const Table<ApplyItem> table{
      "ApplyItem",
      "What became of one document.",
      {
          required("kind", &ApplyItem::kind, text(), "Tenant or Job"),
          required("name", &ApplyItem::name, text(), "of the document"),
          required("result", &ApplyItem::result, text(), "created, changed or unchanged"),
      },
      nullptr};
  return table;
}

const Table<ApplyAnswer>& apply_answer_table() {
  static const Table<ApplyAnswer> table{
      "ApplyAnswer",
      "Answer of POST /v1/apply.",
      {required("items", &ApplyAnswer::items, list(object(apply_item_table()), kAny),
                "in the order of the documents")},
      nullptr};
  return table;
}

}  // namespace tangram::wire

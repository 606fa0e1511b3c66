#include "wire/record_tables.h"

#include <sys/types.h>

namespace tangram::wire {
namespace {

Codec<PrioritySet> priority_bits() {
  return {"integer",
          [](Reader& reader, const Node& node, PrioritySet& into) {
            std::int32_t bits = 0;
            int32_range(0, PrioritySet::all().bits).read(reader, node, bits);
            into.bits = static_cast<std::uint8_t>(bits);
          },
          [](const PrioritySet& from) { return Node::of(std::int64_t{from.bits}); }};
}

// Quantities are plain numbers here, unlimited included: a record says exactly what the core was told.
const Table<Quota>& quota_record_table() {
  static const Table<Quota> table{
      "Quota",
      "",
      {
          required("npus", &Quota::npus, any_int64(), "NPUs"),
          required("memoryPerNpu", &Quota::memory_per_npu, bytes_number(), "bytes"),
          required("memoryTotal", &Quota::memory_total, bytes_number(), "bytes"),
          required("aiCores", &Quota::ai_cores, any_int64(), "AI cores"),
          required("runningJobs", &Quota::running_jobs, any_int64(), "jobs"),
          required("runTimeMs", &Quota::run_time_ms, any_int64(), "milliseconds"),
          required("priorities", &Quota::priorities, priority_bits(), "one bit each"),
          required("bandwidthBps", &Quota::bandwidth_bps, any_int64(), "bits per second"),
      },
      nullptr};
  return table;
}

const Table<Request>& request_record_table() {
  static const Table<Request> table{
      "Request",
      "",
      {
          required("kind", &Request::kind, request_kind_word(), "kind"),
          required("npus", &Request::npus, any_int32(), "whole NPUs"),
          required("memoryPerNpu", &Request::memory_per_npu, bytes_number(), "bytes"),
          required("aiCores", &Request::ai_cores, any_int32(), "of a slice"),
          required("corePercent", &Request::core_percent, any_int32(), "of a share"),
      },
      nullptr};
  return table;
}

const Table<HostLimits>& host_limits_record_table() {
  static const Table<HostLimits> table{
      "HostLimits",
      "",
      {
          required("cpuMilli", &HostLimits::cpu_milli, any_int64(), "thousandths of a core"),
          required("memory", &HostLimits::memory, bytes_number(), "bytes"),
          required("processes", &HostLimits::processes, any_int64(), "processes"),
      },
      nullptr};
  return table;
}

const Table<HostLimitsDoc>& host_defaults_record_table() {
  static const Table<HostLimitsDoc> table{
      "HostDefaults",
      "",
      {
          optional("cpuMilli", &HostLimitsDoc::cpu_milli, any_int64(), "thousandths of a core"),
          optional("memory", &HostLimitsDoc::memory, bytes_number(), "bytes"),
          optional("processes", &HostLimitsDoc::processes, any_int64(), "processes"),
      },
      nullptr};
  return table;
}

}  // namespace

Codec<std::int64_t> any_int64() {
  return int64_range(kIntegerMin, kIntegerMax);
}

Codec<std::int32_t> any_int32() {
  return int32_range(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
}

Codec<std::uint32_t> any_uint32() {
  return uint32_range(0, std::numeric_limits<std::uint32_t>::max());
}

const Table<TenantSpec>& tenant_spec_record_table() {
  static const Table<TenantSpec> table{
      "TenantSpec",
      "",
      {
          required("name", &TenantSpec::name, text(), "name"),
          required("parent", &TenantSpec::parent, text(), "empty: at the top"),
          required("quota", &TenantSpec::quota, object(quota_record_table()), "limits"),
      },
      nullptr};
  return table;
}

const Table<JobSpec>& job_spec_record_table() {
  static const Table<JobSpec> table{
      "JobSpec",
      "",
      {
          required("id", &JobSpec::id, id_number<JobTag, std::uint64_t>(), "job"),
          required("tenant", &JobSpec::tenant, id_number<TenantTag, std::uint32_t>(), "tenant"),
          required("priority", &JobSpec::priority, priority_word(), "class"),
          required("request", &JobSpec::request, object(request_record_table()), "request"),
          required("bandwidthBps", &JobSpec::bandwidth_bps, any_int64(), "bits per second"),
          required("timeLimitMs", &JobSpec::time_limit_ms, any_int64(), "milliseconds"),
          required("noWait", &JobSpec::no_wait, boolean(), "refuse instead of waiting"),
          required("restart", &JobSpec::restart, restart_policy_word(), "policy"),
          required("restartsMax", &JobSpec::restarts_max, any_int32(), "of on-failure"),
      },
      nullptr};
  return table;
}

const Table<SlicePlacement>& slice_record_table() {
  static const Table<SlicePlacement> table{
      "Slice",
      "",
      {
          required("template", &SlicePlacement::template_name, text(), "name of the driver"),
          optional("vgroup", &SlicePlacement::vgroup, any_int32(), "left out: the chip has none"),
          required("memory", &SlicePlacement::memory, bytes_number(), "nominal"),
          required("usableMemory", &SlicePlacement::usable_memory, bytes_number(), "inside"),
          required("aiCores", &SlicePlacement::ai_cores, any_int32(), "AI cores"),
      },
      nullptr};
  return table;
}

namespace {

const Table<StraySlice>& stray_record_table() {
  static const Table<StraySlice> table{
      "StraySlice",
      "",
      {
          required("id", &StraySlice::id, any_uint32(), "of the driver"),
          required("template", &StraySlice::template_name, text(), "empty: not told"),
          optional("vgroup", &StraySlice::vgroup, any_int32(), "left out: not told"),
          optional("residual", &StraySlice::residual, boolean(), "nobody's"),
      },
      nullptr};
  return table;
}

}  // namespace

const Table<NpuReport>& npu_report_record_table() {
  static const Table<NpuReport> table{
      "NpuReport",
      "",
      {
          required("npu", &NpuReport::physical_id, any_uint32(), "physical id"),
          required("chip", &NpuReport::chip, text(), "model"),
          required("memory", &NpuReport::memory, bytes_number(), "bytes"),
          required("aiCores", &NpuReport::ai_cores, any_int32(), "AI cores"),
          required("health", &NpuReport::health, health_word(), "health"),
          optional("cuttable", &NpuReport::cuttable, boolean(), "slices can be cut"),
          optional("templateSet", &NpuReport::template_set, text(), "chip of the catalogue"),
          optional("strays", &NpuReport::strays, list(object(stray_record_table()), kAnyCount),
                   "slices that are no job's"),
      },
      nullptr};
  return table;
}

const Table<JobProgram>& program_record_table() {
  static const Table<JobProgram> table{
      "JobProgram",
      "",
      {
          required("name", &JobProgram::name, text(), "name"),
          required("labels", &JobProgram::labels, text_map(kAnyCount, "labels", nullptr), "labels"),
          secret(required("command", &JobProgram::command, list(text(), kAnyCount), "program and arguments")),
          secret(
              required("env", &JobProgram::env, text_map(kAnyCount, "environment", nullptr), "environment")),
          required("workdir", &JobProgram::workdir, text(), "empty: the job's own"),
          required("host", &JobProgram::host, object(host_limits_record_table()), "limits on the host"),
          required("submitterUid", &JobProgram::submitter_uid, any_uint32(), "who sent it"),
          required("idempotencyKey", &JobProgram::idempotency_key, text(), "empty: none"),
          required("requestHash", &JobProgram::request_hash, text(), "of the request with the key"),
          optional("kind", &JobProgram::kind, job_kind_word(), "left out: a program"),
          optional("tokenHash", &JobProgram::token_hash, text(), "of a lease's token"),
          optional("submitterToken", &JobProgram::submitter_token, uint64_number(), "left out: no token"),
      },
      nullptr};
  return table;
}

const Table<TenantExtras>& extras_record_table() {
  static const Table<TenantExtras> table{
      "TenantExtras",
      "",
      {
          optional("uid", &TenantExtras::uid, any_uint32(), "as the document says"),
          optional("allocatedUid", &TenantExtras::allocated_uid, any_uint32(), "from the daemon's range"),
          required("members", &TenantExtras::members, list(any_uint32(), kAnyCount), "further uids"),
          required("jobDefaults", &TenantExtras::job_defaults, object(host_defaults_record_table()),
                   "limits on the host"),
      },
      nullptr};
  return table;
}

const Table<SupervisorIdentity>& supervisor_record_table() {
  static const Table<SupervisorIdentity> table{
      "SupervisorIdentity",
      "",
      {
          required("pid", &SupervisorIdentity::pid, int32_range(0, std::numeric_limits<pid_t>::max()),
                   "process"),
          required("startTicks", &SupervisorIdentity::start_ticks, uint64_number(), "since boot"),
          required("bootId", &SupervisorIdentity::boot_id, text(), "of the kernel"),
      },
      nullptr};
  return table;
}

}  // namespace tangram::wire

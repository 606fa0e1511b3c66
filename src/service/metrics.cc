#include "service/metrics.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "service/device_use.h"
#include "service/npu_cuts.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

using wire::Metric;

constexpr double kBitsPerByte = 8.0;
constexpr double kMillisecondsPerSecond = 1'000.0;

double number(std::int64_t value) {
  return static_cast<double>(value);
}
double number(Bytes bytes) {
  return number(bytes.count);
}

std::optional<double> limit(std::int64_t value, double unit = 1.0) {
  if (value >= kUnlimited) return std::nullopt;
  return number(value) / unit;
}

template <class T>
std::optional<double> known(const Sample<T>& sample, double unit = 1.0) {
  if (!sample.valid) return std::nullopt;
  return number(sample.value) / unit;
}

// ---- NPUs

void add_health(const std::string& node, const std::string& npu, Health health, MetricFamilies& families) {
  for (const Health one : {Health::kUnknown, Health::kOk, Health::kWarning, Health::kAlarm, Health::kCritical,
                           Health::kAbsent}) {
    families.add(Metric::kNpuHealth, one == health ? 1.0 : 0.0, {node, npu, to_string(one)});
  }
}

void add_readings(const std::string& node, const DeviceNpu& reading, MetricFamilies& families) {
  constexpr double kPercent = 100.0;
  const std::string npu = std::to_string(reading.physical_id);
  families.add(Metric::kNpuMemoryUsed, known(reading.memory_used), {node, npu});
  families.add(Metric::kNpuAiCoreUtilization, known(reading.ai_core_percent, kPercent), {node, npu});
  families.add(Metric::kNpuTemperature, known(reading.temperature_celsius), {node, npu});
  families.add(Metric::kNpuPower, known(reading.power_milliwatt, 1'000.0), {node, npu});
}

Bytes allocated_of(const NpuView& npu) {
  if (npu.job.valid()) return npu.report.memory;
  Bytes allocated;
  for (const NpuView::Slice& slice : npu.slices) allocated += slice.placement.memory;
  return allocated;
}

// Each template that the NPU can be cut into, and each that stands on it.
void add_slices(const MetricsSource& source, const CutRules& rules, const NpuView& npu,
                MetricFamilies& families) {
  const std::string& node = source.options.node;
  const std::string id = std::to_string(npu.report.physical_id);
  const NpuCuts cuts = look_at_cuts(source.state.own_slices, rules, npu,
                                    find_reading(source.look.readings, npu.report.physical_id));
  std::map<std::string, std::map<wire::SliceStanding, std::int64_t>> counts;
  if (cuts.chip != kNoChip) {
    const Catalog::Chip& chip = rules.catalog()->chip(cuts.chip);
    const bool closed =
        !npu.report.cuttable || npu.job.valid() || npu.report.health != Health::kOk || cuts.state == kNoState;
    for (std::uint32_t shape = 0; shape < chip.model.templates.size(); ++shape) {
      const SliceTemplate& known = chip.model.templates[shape];
      if (!known.offered) continue;
      counts[known.name];
      families.add(Metric::kNpuSliceRoom, closed ? 0.0 : number(chip.table.room(cuts.state, shape)),
                   {node, id, known.name});
    }
  }
  for (const CutSlice& slice : cuts.slices) ++counts[slice.template_name][slice.standing];
  for (auto& [name, standings] : counts) {
    for (const wire::SliceStanding standing :
         {wire::SliceStanding::kHeld, wire::SliceStanding::kResidual, wire::SliceStanding::kForeign}) {
      families.add(Metric::kNpuSlices, number(standings[standing]), {node, id, name, to_string(standing)});
    }
  }
}

void add_npus(const MetricsSource& source, MetricFamilies& families) {
  const std::string& node = source.options.node;
  const CutRules rules(source.state.catalog);
  for (const NpuView& view : source.state.npus) {
    const NpuReport& report = view.report;
    add_slices(source, rules, view, families);
    const std::string npu = std::to_string(report.physical_id);
    families.add(Metric::kNpuInfo, 1.0, {node, npu, report.chip, source.look.readings.driver_version});
    add_health(node, npu, report.health, families);
    if (report.memory.count > 0) {
      families.add(Metric::kNpuMemoryCapacity, number(report.memory), {node, npu});
      families.add(Metric::kNpuMemoryAllocated, number(allocated_of(view)), {node, npu});
    }
    if (report.ai_cores > 0) families.add(Metric::kNpuAiCores, number(report.ai_cores), {node, npu});
  }
  for (const DeviceNpu& reading : source.look.readings.npus) add_readings(node, reading, families);
}

void add_driver(const MetricsSource& source, MetricFamilies& families) {
  const DeviceReadings& readings = source.look.readings;
  if (!readings.available || readings.driver.kind == DriverStanding::Kind::kUnknown) return;
  const bool supported = readings.driver.kind == DriverStanding::Kind::kSupported;
  families.add(Metric::kDriverSupported, supported ? 1.0 : 0.0,
               {source.options.node, readings.driver_version});
}

void add_devices(const MetricsSource& source, MetricFamilies& families) {
  families.add(Metric::kDevicesUp, source.look.readings.available ? 1.0 : 0.0);
  add_driver(source, families);
  const double age = seconds(source.now - source.look.at);
  families.add(Metric::kDevicesLastScan, seconds(source.wall.time_since_epoch()) - age);
}

// ---- jobs and tenants

// Of one job, or of a tenant with those below it.
struct Used {
  bool known = true;
  Bytes memory;
  std::int64_t npus = 0;  // on which it holds memory

  void add(const Used& other) {
    known = known && other.known;
    memory += other.memory;
    npus += other.npus;
  }
};

Used used_by(const DeviceReadings& readings, const MetricsState::ActiveJob& job) {
  Used used;
  for (const std::uint32_t npu : job.npus) {
    const auto memory = memory_used_by(readings, npu, job.id);
    used.known = used.known && memory.has_value();
    if (!memory) continue;
    used.memory += *memory;
    if (memory->count > 0) ++used.npus;
  }
  return used;
}

std::string_view owner_of(const MetricsState::ActiveJob& job) {
  return job.tenants.empty() ? std::string_view() : job.tenants.front();
}

void add_jobs(const MetricsSource& source, MetricFamilies& families) {
  std::map<std::uint32_t, Bytes> sizes;
  for (const NpuView& npu : source.state.npus) sizes[npu.report.physical_id] = npu.report.memory;
  for (const MetricsState::ActiveJob& job : source.state.jobs) {
    const std::string_view owner = owner_of(job);
    families.add(Metric::kJobInfo, 1.0, {owner, job.id, job.name, to_string(job.priority)});
    families.add(Metric::kJobNpus, number(static_cast<std::int64_t>(job.npus.size())), {owner, job.id});
    Bytes allocated;
    for (const std::uint32_t npu : job.npus) {
      allocated += sizes[npu];
      families.add(Metric::kNpuLeaseInfo, 1.0, {source.options.node, std::to_string(npu), owner, job.id});
    }
    families.add(Metric::kJobMemoryAllocated, number(job.slice.value_or(allocated)), {owner, job.id});
    if (const Used used = used_by(source.look.readings, job); used.known) {
      families.add(Metric::kJobMemoryUsed, number(used.memory), {owner, job.id});
    }
  }
}

// What the jobs of each tenant and of those below it use.
std::map<std::string_view, Used> used_by_tenants(const MetricsSource& source) {
  std::map<std::string_view, Used> all;
  for (const MetricsState::ActiveJob& job : source.state.jobs) {
    const Used used = used_by(source.look.readings, job);
    for (const std::string& tenant : job.tenants) all[tenant].add(used);
  }
  return all;
}

void add_tenant(const TenantView& tenant, const Used& used, MetricFamilies& families) {
  const std::string& name = tenant.spec.name;
  const Quota& quota = tenant.spec.quota;
  families.add(Metric::kTenantInfo, 1.0, {name, tenant.spec.parent});
  families.add(Metric::kTenantNpusLimit, limit(quota.npus), {name});
  families.add(Metric::kTenantNpusAllocated, number(tenant.used.npus), {name});
  families.add(Metric::kTenantMemoryLimit, limit(quota.memory_total.count), {name});
  families.add(Metric::kTenantMemoryAllocated, number(tenant.used.memory_total), {name});
  if (used.known) {
    families.add(Metric::kTenantNpusUsed, number(used.npus), {name});
    families.add(Metric::kTenantMemoryUsed, number(used.memory), {name});
  }
  families.add(Metric::kTenantMemoryPerNpuLimit, limit(quota.memory_per_npu.count), {name});
  families.add(Metric::kTenantAiCoresLimit, limit(quota.ai_cores), {name});
  families.add(Metric::kTenantAiCoresAllocated, number(tenant.used.ai_cores), {name});
  families.add(Metric::kTenantRunningJobsLimit, limit(quota.running_jobs), {name});
  families.add(Metric::kTenantRunningJobs, number(tenant.used.running_jobs), {name});
  families.add(Metric::kTenantQueuedJobs, number(tenant.queued), {name});
  families.add(Metric::kTenantRunTimeLimit, limit(quota.run_time_ms, kMillisecondsPerSecond), {name});
  families.add(Metric::kTenantBandwidthLimit, limit(quota.bandwidth_bps, kBitsPerByte), {name});
  families.add(Metric::kTenantBandwidthAllocated, number(tenant.used.bandwidth_bps) / kBitsPerByte, {name});
}

void add_tenants(const MetricsSource& source, MetricFamilies& families) {
  const MetricsState& state = source.state;
  families.add(Metric::kTenants, number(static_cast<std::int64_t>(state.tenant_count)));
  families.add(Metric::kTenantsOmitted,
               number(static_cast<std::int64_t>(state.tenant_count - state.tenants.size())));
  const auto used = used_by_tenants(source);
  for (const TenantView& tenant : state.tenants) {
    const auto found = used.find(tenant.spec.name);
    add_tenant(tenant, found == used.end() ? Used{} : found->second, families);
  }
}

// ---- queue

void add_queue(const MetricsSource& source, MetricFamilies& families) {
  std::map<ReasonCode, std::int64_t> waiting;
  // Each reason that a job can wait for, so that none appears out of nothing.
  for (const ReasonCode reason : wire::waiting_reasons()) waiting[reason] = 0;
  std::int64_t ready = 0;
  for (const auto& [reason, jobs] : source.state.queue)
    (reason == ReasonCode::kNone ? ready : waiting[reason]) += jobs;
  families.add(Metric::kQueueJobs, number(ready), {to_string(JobState::kReady)});
  std::int64_t all_waiting = 0;
  for (const auto& [reason, jobs] : waiting) {
    families.add(Metric::kQueueJobs, number(jobs), {token(reason)});
    all_waiting += jobs;
  }
  std::map<JobState, std::int64_t> states{
      {JobState::kReady, ready},
      {JobState::kWaiting, all_waiting},
      {JobState::kStarting, 0},
      {JobState::kRunning, 0},
      {JobState::kEnded, static_cast<std::int64_t>(source.state.ended_jobs)}};
  for (const MetricsState::ActiveJob& job : source.state.jobs) ++states[job.state];
  for (const auto& [state, jobs] : states) families.add(Metric::kJobs, number(jobs), {to_string(state)});
}

// ---- the daemon itself

double count(const std::atomic<std::uint64_t>& counter) {
  return static_cast<double>(counter.load());
}

void add_meters(const Meters& meters, MetricFamilies& families) {
  families.add(Metric::kJobsSubmitted, count(meters.jobs_submitted));
  families.add(Metric::kAttemptsStarted, count(meters.attempts_started));
  for (int n = 0; n <= static_cast<int>(Outcome::kRefused); ++n) {
    const auto outcome = static_cast<Outcome>(n);
    families.add(Metric::kJobsEnded, static_cast<double>(meters.ended(outcome)), {to_string(outcome)});
  }
  families.add(Metric::kJobWait, meters.job_wait);
  families.add(Metric::kDecisionDuration, meters.decision);
  families.add(Metric::kCommandDuration, meters.command);
  families.add(Metric::kJournalUp, meters.journal_up ? 1.0 : 0.0);
  families.add(Metric::kJournalAppendDuration, meters.append);
  families.add(Metric::kJournalSyncDuration, meters.sync);
  families.add(Metric::kJournalRecords, count(meters.records));
  families.add(Metric::kJournalFailures, count(meters.append_failures));
  families.add(Metric::kJournalLastSequence, count(meters.last_sequence));
}

// Names of the tenant and of those above it.
std::vector<std::string> path_of(const Scheduler& core, TenantId tenant) {
  std::vector<std::string> path;
  for (std::optional<TenantId> at = tenant; at;) {
    const auto view = core.tenant(*at);
    if (!view) break;
    path.push_back(view->spec.name);
    at = view->spec.parent.empty() ? std::nullopt : core.find_tenant(view->spec.parent);
  }
  return path;
}

}  // namespace

MetricsState metrics_state(const State& state) {
  const Scheduler& core = state.core();
  MetricsState taken{core.npus(),
                     {},
                     core.tenants(kTenantSeriesMax),
                     core.tenant_count(),
                     core.queue_by_reason(),
                     state.ended_jobs().size(),
                     core.catalog(),
                     own_slices(state)};
  // Jobs that are active hold NPUs, so these lead to them without a walk over the queue.
  std::map<JobId, std::vector<std::uint32_t>> held;
  for (const NpuView& npu : taken.npus) {
    if (npu.job.valid()) held[npu.job].push_back(npu.report.physical_id);
    for (const NpuView::Slice& slice : npu.slices) held[slice.job].push_back(npu.report.physical_id);
  }
  for (auto& [id, npus] : held) {
    const auto status = core.job(id);
    if (!status) continue;
    const LiveJob* live = state.live(id);
    std::optional<Bytes> slice;
    if (status->slice) slice = status->slice->memory;
    taken.jobs.push_back({wire::format_job_id(id), live != nullptr ? live->program->name : std::string(),
                          path_of(core, status->spec.tenant), status->spec.priority, status->state,
                          std::move(npus), slice});
  }
  return taken;
}

void add_metrics(const MetricsSource& source, MetricFamilies& families) {
  families.add(Metric::kBuildInfo, 1.0, {source.options.version});
  families.add(Metric::kMissingWalls, number(static_cast<std::int64_t>(source.missing_walls)));
  add_devices(source, families);
  add_npus(source, families);
  add_jobs(source, families);
  add_tenants(source, families);
  add_queue(source, families);
  add_meters(source.meters, families);
  families.add(Metric::kWriterBacklog, number(static_cast<std::int64_t>(source.backlog.commands)),
               {"command"});
  families.add(Metric::kWriterBacklog, number(static_cast<std::int64_t>(source.backlog.reports)), {"report"});
  families.add(Metric::kJournalLag, seconds(source.backlog.oldest));
}

}  // namespace tangram::service

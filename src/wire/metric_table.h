// Every metric that the daemon exposes: the one table of names. docs/metrics.md is made from it, and nothing
// else may be exposed. Thread-safe: constants.
//
// Names are tangram_<object>_<what>_<unit> in base units, as the Prometheus conventions want. Capacity (or
// limit), allocated and used are three metrics. What is not known is absent, never 0.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tangram::wire {

// In the order of the table.
enum class Metric : std::uint8_t {
  kBuildInfo,
  kMissingWalls,
  kProcessCpu,
  kProcessMemory,
  kProcessFiles,
  kProcessStart,
  kDevicesUp,
  kDevicesLastScan,
  kDriverSupported,
  kNpuInfo,
  kNpuHealth,
  kNpuMemoryCapacity,
  kNpuMemoryAllocated,
  kNpuMemoryUsed,
  kNpuAiCores,
  kNpuAiCoreUtilization,
  kNpuTemperature,
  kNpuPower,
  kNpuLeaseInfo,
  kNpuSlices,
  kNpuSliceRoom,
  kJobInfo,
  kJobNpus,
  kJobMemoryAllocated,
  kJobMemoryUsed,
  kTenants,
  kTenantsOmitted,
  kTenantInfo,
  kTenantNpusLimit,
  kTenantNpusAllocated,
  kTenantNpusUsed,
  kTenantMemoryLimit,
  kTenantMemoryAllocated,
  kTenantMemoryUsed,
  kTenantMemoryPerNpuLimit,
  kTenantAiCoresLimit,
  kTenantAiCoresAllocated,
  kTenantRunningJobsLimit,
  kTenantRunningJobs,
  kTenantQueuedJobs,
  kTenantRunTimeLimit,
  kTenantBandwidthLimit,
  kTenantBandwidthAllocated,
  kJobs,
  kQueueJobs,
  kJobsSubmitted,
  kAttemptsStarted,
  kJobsEnded,
  kJobWait,
  kDecisionDuration,
  kCommandDuration,
  kWriterBacklog,
  kJournalUp,
  kJournalLag,
  kJournalAppendDuration,
  kJournalSyncDuration,
  kJournalRecords,
  kJournalFailures,
  kJournalLastSequence,
  kHttpRequests,
};
inline constexpr std::size_t kMetricCount = static_cast<std::size_t>(Metric::kHttpRequests) + 1;

enum class MetricType : std::uint8_t { kGauge, kCounter, kHistogram };

struct MetricInfo {
  Metric metric;
  std::string_view name;
  MetricType type;
  std::array<std::string_view, 4> labels;  // empty ones behind the last
  std::string_view help;                   // with the unit, and when it is absent
  std::span<const double> buckets = {};    // kHistogram: upper bounds, ascending
};

std::span<const MetricInfo> metrics();
const MetricInfo& info(Metric metric);

}  // namespace tangram::wire

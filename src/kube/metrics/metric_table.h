// Every metric of tangram-kube: the one table of names. docs/kubernetes-metrics.md is made from it, and
// nothing else may be exposed. HAMi's names have HAMi's labels and units, so that its dashboards go on; our
// own follow the conventions of Prometheus. What is not known is absent, never 0. Thread-safe: constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tangram::kube::metrics {

// In the order of the table.
enum class Metric : std::uint8_t {
  kHamiMemoryLimit,
  kHamiCoreLimit,
  kHamiMemoryAllocated,
  kHamiSharedCount,
  kHamiCoreAllocated,
  kHamiOverview,
  kHamiMemoryRatio,
  kHamiPodMemory,
  kHamiPodCore,
  kHamiQuotaUsed,
  kHamiQuotaLimit,
  kBuildInfo,
  kLeader,
  kReady,
  kNpuInfo,
  kNpuHealthy,
  kNpuMemoryCapacity,
  kNpuMemoryAllocated,
  kNpuSharesCapacity,
  kNpuSharesAllocated,
  kNpuStraySlices,
  kPodMemoryAllocated,
  kPods,
  kQueuedPodOldest,
  kTenantNpusLimit,
  kTenantNpusAllocated,
  kTenantMemoryLimit,
  kTenantMemoryAllocated,
  kTenantAiCoresLimit,
  kTenantAiCoresAllocated,
  kTenantRunningJobsLimit,
  kTenantRunningJobs,
  kTenantQueuedJobs,
  kGatesOpened,
  kGateConflicts,
  kGateFailures,
  kPodsWoken,
  kReservationsExpired,
  kBooksRebuilt,
  kExtenderRequests,
  kExtenderDuration,
};
inline constexpr std::size_t kMetricCount = static_cast<std::size_t>(Metric::kExtenderDuration) + 1;

enum class MetricType : std::uint8_t { kGauge, kCounter, kHistogram };
std::string_view to_string(MetricType type);

struct MetricInfo {
  Metric metric;
  std::string_view name;
  MetricType type;
  std::array<std::string_view, 6> labels;  // empty ones behind the last
  std::string_view help;                   // with the unit, and when it is absent
};

std::span<const MetricInfo> metrics();
const MetricInfo& info(Metric metric);

// HAMi gives each of its series the label zone="vGPU".
bool has_zone(const MetricInfo& metric);

}  // namespace tangram::kube::metrics

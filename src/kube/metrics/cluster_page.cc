#include "kube/metrics/cluster_page.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tangram::kube::metrics {
namespace {

constexpr double kBytesPerMib = 1'048'576;

double bytes_of(std::int64_t mib) {
  return static_cast<double>(mib) * kBytesPerMib;
}

std::optional<double> number_of(const std::optional<std::int64_t>& amount) {
  return amount ? std::optional(static_cast<double>(*amount)) : std::nullopt;
}

// Empty where it is not known.
std::string text_of(const std::optional<std::int64_t>& amount) {
  return amount ? std::to_string(*amount) : std::string();
}

struct Given {
  std::int64_t memory_mib = 0;
  std::int64_t shares = 0;
};
using NpuName = std::pair<std::string, std::string>;  // node, UUID

std::map<NpuName, Given> given_of(const ClusterRows& rows) {
  std::map<NpuName, Given> given;
  for (const auto& [key, pod] : rows.pods) {
    for (const Holding& holding : pod.holdings) {
      Given& npu = given[{pod.node, holding.uuid}];
      npu.memory_mib += holding.memory_mib;
      ++npu.shares;
    }
  }
  return given;
}

void add_hami_npu(std::string_view node, const NpuRow& npu, const Given& given, Page& page) {
  const std::string index = std::to_string(npu.index);
  const std::string cores = text_of(npu.ai_cores);
  const double allocated = bytes_of(given.memory_mib);
  const auto shares = static_cast<double>(given.shares);
  if (npu.memory_mib) {
    page.add(Metric::kHamiMemoryLimit, bytes_of(*npu.memory_mib), {node, npu.uuid, index, npu.word});
    if (*npu.memory_mib > 0) {
      page.add(Metric::kHamiMemoryRatio, allocated / bytes_of(*npu.memory_mib),
               {node, npu.uuid, index, npu.word});
    }
  }
  page.add(Metric::kHamiCoreLimit, number_of(npu.ai_cores), {node, npu.uuid, index, npu.word});
  page.add(Metric::kHamiMemoryAllocated, allocated, {node, npu.uuid, index, cores, npu.word});
  page.add(Metric::kHamiSharedCount, shares, {node, npu.uuid, index, npu.word});
  page.add(Metric::kHamiCoreAllocated, 0, {node, npu.uuid, index, npu.word});
  page.add(Metric::kHamiOverview, allocated,
           {node, npu.uuid, index, cores, text_of(npu.memory_mib), npu.word});
}

void add_npu(std::string_view node, const NpuRow& npu, const Given& given, Page& page) {
  const std::string index = std::to_string(npu.index);
  page.add(Metric::kNpuInfo, 1, {node, index, npu.uuid, npu.chip});
  page.add(Metric::kNpuHealthy, npu.healthy ? 1 : 0, {node, index});
  if (npu.memory_mib) page.add(Metric::kNpuMemoryCapacity, bytes_of(*npu.memory_mib), {node, index});
  page.add(Metric::kNpuMemoryAllocated, bytes_of(given.memory_mib), {node, index});
  page.add(Metric::kNpuSharesCapacity, static_cast<double>(npu.shares), {node, index});
  page.add(Metric::kNpuSharesAllocated, static_cast<double>(given.shares), {node, index});
  page.add(Metric::kNpuStraySlices, static_cast<double>(npu.strays), {node, index});
}

void add_pod(const PodRow& pod, Page& page) {
  for (const Holding& holding : pod.holdings) {
    const double memory = bytes_of(holding.memory_mib);
    const std::string place = std::to_string(holding.place);
    page.add(Metric::kHamiPodMemory, memory, {pod.space, pod.node, pod.name, place, holding.uuid});
    page.add(Metric::kHamiPodCore, 0, {pod.space, pod.node, pod.name, place, holding.uuid});
    page.add(Metric::kPodMemoryAllocated, memory,
             {pod.space, pod.name, holding.container, pod.node, std::to_string(holding.npu),
              holding.template_name});
  }
}

using QuotaName = std::pair<std::string, std::string>;  // namespace, resource

void add_quotas(const ClusterRows& rows, const std::vector<QuotaLimit>& quotas, Page& page) {
  std::map<QuotaName, std::int64_t> limits;
  std::map<QuotaName, std::int64_t> used;
  for (const QuotaLimit& quota : quotas) {
    const auto [at, is_new] = limits.emplace(QuotaName{quota.space, quota.name}, quota.hard_mib);
    if (!is_new) at->second = std::min(at->second, quota.hard_mib);
    used.try_emplace(QuotaName{quota.space, quota.name}, 0);
  }
  for (const auto& [key, pod] : rows.pods) {
    for (const auto& [name, amount] : pod.memory_mib) used[{pod.space, name}] += amount;
  }
  for (const auto& [name, amount] : used) {
    const auto limit = limits.find(name);
    const std::string text = limit == limits.end() ? "0" : std::to_string(limit->second);
    page.add(Metric::kHamiQuotaUsed, static_cast<double>(amount), {name.first, name.second, text});
  }
  for (const auto& [name, limit] : limits) {
    page.add(Metric::kHamiQuotaLimit, static_cast<double>(limit), {name.first, name.second});
  }
}

void add_tenant(std::string_view name, const TenantRow& tenant, Page& page) {
  page.add(Metric::kTenantNpusLimit, number_of(tenant.limits.npus), {name});
  page.add(Metric::kTenantNpusAllocated, number_of(tenant.used.npus), {name});
  page.add(Metric::kTenantMemoryLimit, number_of(tenant.limits.memory_bytes), {name});
  page.add(Metric::kTenantMemoryAllocated, number_of(tenant.used.memory_bytes), {name});
  page.add(Metric::kTenantAiCoresLimit, number_of(tenant.limits.ai_cores), {name});
  page.add(Metric::kTenantAiCoresAllocated, number_of(tenant.used.ai_cores), {name});
  page.add(Metric::kTenantRunningJobsLimit, number_of(tenant.limits.running_jobs), {name});
  page.add(Metric::kTenantRunningJobs, number_of(tenant.used.running_jobs), {name});
  page.add(Metric::kTenantQueuedJobs, number_of(tenant.queued), {name});
}

std::optional<std::int64_t> oldest_of(const ClusterRows& rows) {
  std::optional<std::int64_t> oldest;
  for (const auto& [key, pod] : rows.pods) {
    if (pod.queued_since && (!oldest || *pod.queued_since < *oldest)) oldest = pod.queued_since;
  }
  return oldest;
}

}  // namespace

void add_cluster(const ClusterRows& rows, const std::vector<QuotaLimit>& quotas, Page& page) {
  const std::map<NpuName, Given> given = given_of(rows);
  for (const auto& [name, node] : rows.nodes) {
    for (const NpuRow& npu : node.npus) {
      const auto at = given.find({name, npu.uuid});
      const Given here = at == given.end() ? Given{} : at->second;
      add_hami_npu(name, npu, here, page);
      add_npu(name, npu, here, page);
    }
  }
  for (const auto& [key, pod] : rows.pods) add_pod(pod, page);
  add_quotas(rows, quotas, page);
  page.add(Metric::kQueuedPodOldest, number_of(oldest_of(rows)), {});
  for (const auto& [name, tenant] : rows.tenants) add_tenant(name, tenant, page);
}

}  // namespace tangram::kube::metrics

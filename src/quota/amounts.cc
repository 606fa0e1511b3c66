#include "quota/amounts.h"

#include "base/invariant.h"

namespace tangram {

Amounts limits_of(const Quota& quota) {
  return {quota.npus, quota.memory_total.count, quota.ai_cores, quota.running_jobs, quota.bandwidth_bps};
}

Amounts to_amounts(const Usage& usage) {
  return {usage.npus, usage.memory_total.count, usage.ai_cores, usage.running_jobs, usage.bandwidth_bps};
}

Usage to_usage(const Amounts& amounts) {
  Usage usage;
  usage.npus = amounts[index_of(Countable::kNpus)];
  usage.memory_total = Bytes(amounts[index_of(Countable::kMemoryTotal)]);
  usage.ai_cores = amounts[index_of(Countable::kAiCores)];
  usage.running_jobs = amounts[index_of(Countable::kRunningJobs)];
  usage.bandwidth_bps = amounts[index_of(Countable::kBandwidth)];
  return usage;
}

Amounts charge_of_slice(SliceCount count, Bytes memory, std::int32_t ai_cores, std::int64_t bandwidth_bps) {
  return {count == SliceCount::kOne ? 1 : 0, memory.count, ai_cores, 1, bandwidth_bps};
}

Dimension dimension_of(Countable countable) {
  switch (countable) {
    case Countable::kNpus:
      return Dimension::kNpus;
    case Countable::kMemoryTotal:
      return Dimension::kMemoryTotal;
    case Countable::kAiCores:
      return Dimension::kAiCores;
    case Countable::kRunningJobs:
      return Dimension::kRunningJobs;
    case Countable::kBandwidth:
      return Dimension::kBandwidth;
  }
  return Dimension::kNpus;
}

ReasonCode wait_reason(Countable countable) {
  switch (countable) {
    case Countable::kNpus:
      return ReasonCode::kQuotaNpus;
    case Countable::kMemoryTotal:
      return ReasonCode::kQuotaMemoryTotal;
    case Countable::kAiCores:
      return ReasonCode::kQuotaAiCores;
    case Countable::kRunningJobs:
      return ReasonCode::kQuotaRunningJobs;
    case Countable::kBandwidth:
      return ReasonCode::kQuotaBandwidth;
  }
  return ReasonCode::kNone;
}

ReasonCode never_reason(Countable countable) {
  switch (countable) {
    case Countable::kNpus:
      return ReasonCode::kQuotaNpusNever;
    case Countable::kMemoryTotal:
      return ReasonCode::kQuotaMemoryTotalNever;
    case Countable::kAiCores:
      return ReasonCode::kQuotaAiCoresNever;
    case Countable::kRunningJobs:
      return ReasonCode::kQuotaRunningJobsNever;
    case Countable::kBandwidth:
      return ReasonCode::kQuotaBandwidthNever;
  }
  return ReasonCode::kNone;
}

Quota with_limit(Quota quota, Dimension dimension, std::int64_t limit) {
  TG_ASSERT(limit >= 0, "a limit is not negative");
  TG_ASSERT(dimension != Dimension::kPriorities, "priorities are no number");
  switch (dimension) {
    case Dimension::kNpus:
      quota.npus = limit;
      break;
    case Dimension::kMemoryPerNpu:
      quota.memory_per_npu = Bytes(limit);
      break;
    case Dimension::kMemoryTotal:
      quota.memory_total = Bytes(limit);
      break;
    case Dimension::kAiCores:
      quota.ai_cores = limit;
      break;
    case Dimension::kRunningJobs:
      quota.running_jobs = limit;
      break;
    case Dimension::kRunTime:
      quota.run_time_ms = limit;
      break;
    case Dimension::kPriorities:
      break;
    case Dimension::kBandwidth:
      quota.bandwidth_bps = limit;
      break;
  }
  return quota;
}

}  // namespace tangram

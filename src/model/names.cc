// The spelling of every enumerator of the model, in one place.
#include "model/job.h"
#include "model/npu.h"
#include "model/reason.h"
#include "model/tenant.h"

namespace tangram {

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kUnknown:
      return "unknown";
    case Health::kOk:
      return "ok";
    case Health::kWarning:
      return "warning";
    case Health::kAlarm:
      return "alarm";
    case Health::kCritical:
      return "critical";
    case Health::kAbsent:
      return "absent";
  }
  return "unknown";
}

std::string_view to_string(NpuMode mode) {
  switch (mode) {
    case NpuMode::kFree:
      return "free";
    case NpuMode::kWhole:
      return "whole";
    case NpuMode::kSliced:
      return "sliced";
    case NpuMode::kShared:
      return "shared";
  }
  return "unknown";
}

std::string_view to_string(Priority priority) {
  switch (priority) {
    case Priority::kHigh:
      return "high";
    case Priority::kNormal:
      return "normal";
    case Priority::kLow:
      return "low";
  }
  return "unknown";
}

std::string_view to_string(SliceCount count) {
  switch (count) {
    case SliceCount::kOne:
      return "one";
    case SliceCount::kNone:
      return "none";
  }
  return "unknown";
}

std::string_view to_string(Dimension dimension) {
  switch (dimension) {
    case Dimension::kNpus:
      return "npus";
    case Dimension::kMemoryPerNpu:
      return "memoryPerNpu";
    case Dimension::kMemoryTotal:
      return "memoryTotal";
    case Dimension::kAiCores:
      return "aiCores";
    case Dimension::kRunningJobs:
      return "runningJobs";
    case Dimension::kRunTime:
      return "runTime";
    case Dimension::kPriorities:
      return "priorities";
    case Dimension::kBandwidth:
      return "bandwidth";
  }
  return "unknown";
}

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::kReady:
      return "ready";
    case JobState::kWaiting:
      return "waiting";
    case JobState::kStarting:
      return "starting";
    case JobState::kRunning:
      return "running";
    case JobState::kEnded:
      return "ended";
  }
  return "unknown";
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeded:
      return "succeeded";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kTimedOut:
      return "timed-out";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kNotStarted:
      return "not-started";
    case Outcome::kLost:
      return "lost";
    case Outcome::kDeviceLost:
      return "device-lost";
    case Outcome::kRefused:
      return "refused";
  }
  return "unknown";
}

std::string_view to_string(RestartPolicy policy) {
  switch (policy) {
    case RestartPolicy::kNever:
      return "never";
    case RestartPolicy::kOnLost:
      return "on-lost";
    case RestartPolicy::kOnFailure:
      return "on-failure";
  }
  return "unknown";
}

std::string_view token(ReasonCode code) {
  switch (code) {
    case ReasonCode::kNone:
      return "none";
    case ReasonCode::kQuotaNpus:
      return "quota.npus.exceeded";
    case ReasonCode::kQuotaMemoryTotal:
      return "quota.memory_total.exceeded";
    case ReasonCode::kQuotaAiCores:
      return "quota.ai_cores.exceeded";
    case ReasonCode::kQuotaRunningJobs:
      return "quota.running_jobs.exceeded";
    case ReasonCode::kQuotaBandwidth:
      return "quota.bandwidth.exceeded";
    case ReasonCode::kQuotaKept:
      return "quota.kept";
    case ReasonCode::kQuotaMemoryPerNpu:
      return "quota.memory_per_npu.above_limit";
    case ReasonCode::kQuotaRunTime:
      return "quota.run_time.above_limit";
    case ReasonCode::kQuotaPriority:
      return "quota.priority.forbidden";
    case ReasonCode::kQuotaNpusNever:
      return "quota.npus.above_limit";
    case ReasonCode::kQuotaMemoryTotalNever:
      return "quota.memory_total.above_limit";
    case ReasonCode::kQuotaAiCoresNever:
      return "quota.ai_cores.above_limit";
    case ReasonCode::kQuotaRunningJobsNever:
      return "quota.running_jobs.above_limit";
    case ReasonCode::kQuotaBandwidthNever:
      return "quota.bandwidth.above_limit";
    case ReasonCode::kNpusBusy:
      return "capacity.npus.busy";
    case ReasonCode::kNpusUnhealthy:
      return "capacity.npus.unhealthy";
    case ReasonCode::kNpusKept:
      return "capacity.npus.kept";
    case ReasonCode::kNpusNever:
      return "capacity.npus.never";
    case ReasonCode::kMemoryNever:
      return "capacity.memory.never";
    case ReasonCode::kNoDevices:
      return "capacity.no_devices";
    case ReasonCode::kSliceUnsupported:
      return "request.slice.unsupported";
    case ReasonCode::kShareUnsupported:
      return "request.share.unsupported";
    case ReasonCode::kSlotsBusy:
      return "capacity.slots.busy";
    case ReasonCode::kMemoryBusy:
      return "capacity.memory.busy";
    case ReasonCode::kSlicesResidual:
      return "capacity.slices.residual";
    case ReasonCode::kAiCoresNever:
      return "capacity.ai_cores.never";
  }
  return "none";
}

}  // namespace tangram

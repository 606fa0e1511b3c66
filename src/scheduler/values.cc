#include "scheduler/values.h"

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "catalog/chip.h"
#include "queue/wait_queue.h"

namespace tangram {
namespace {

constexpr std::int64_t kNpusPerNodeMax = 4096;
constexpr std::size_t kNodeNameMax = 253;
constexpr std::size_t kChipNameMax = 64;
constexpr std::size_t kTenantNameMax = 63;
constexpr std::int64_t kMemoryMax = std::int64_t{1} << 48;
constexpr std::int64_t kAiCoresMax = 1'000'000;
constexpr std::int64_t kBandwidthMax = 1'000'000'000'000'000;

bool is_valid_tenant_name(const std::string& name) {
  const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= kTenantNameMax &&
         std::all_of(name.begin(), name.end(), is_allowed) && name.front() != '-' && name.back() != '-';
}

Result<void> check_limit(const char* field, std::int64_t value) {
  if (value < 0) {
    return fail(Code::kInvalidArgument, "quota.below_zero",
                std::string("quota ") + field + " is " + std::to_string(value) + ", below zero",
                std::string("set ") + field + " to 0 or more, or leave it out for no limit",
                {{"field", std::string(field)}, {"value", value}});
  }
  return check_range(field, value, 0, kUnlimited);
}

Result<void> check_name(const char* field, const std::string& name) {
  if (name.size() <= kChipNameMax) return {};
  return bad_value(field, quoted(name), "at most 64 bytes long");
}

Result<void> check_memory(const char* field, Bytes value) {
  if (value.count >= 0 && value.count <= kMemoryMax) return {};
  return bad_value(field, format_bytes(value), "between 0 and " + format_bytes(Bytes(kMemoryMax)));
}

// Nothing asked for is 0 in here alone: nobody can ask for 0.
Result<void> check_asked_memory(const char* field, Bytes value) {
  if (value.count >= 0 && value.count <= kMemoryMax) return {};
  return bad_value(field, format_bytes(value), "between 1B and " + format_bytes(Bytes(kMemoryMax)));
}

bool is_known(Health health) {
  switch (health) {
    case Health::kUnknown:
    case Health::kOk:
    case Health::kWarning:
    case Health::kAlarm:
    case Health::kCritical:
    case Health::kAbsent:
      return true;
  }
  return false;
}

}  // namespace

tl::unexpected<Error> bad_value(std::string field, std::string value, std::string_view right) {
  std::string message = field + " is " + value + ", but must be " + std::string(right);
  std::string hint = "correct " + field + " and send it again";
  return fail(Code::kInvalidArgument, "request.invalid", std::move(message), std::move(hint),
              {{"field", std::move(field)}, {"value", std::move(value)}});
}

Result<void> check_range(const char* field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return {};
  return bad_value(field, std::to_string(value),
                   "between " + std::to_string(least) + " and " + std::to_string(most));
}

Result<void> check_values(const SettingsChanged& settings) {
  TG_TRY_VOID(check_range("sliceCount", static_cast<int>(settings.slice_count), 0,
                          static_cast<int>(SliceCount::kNone)));
  return check_range("keepAfter", settings.keep_after_ms, 0, kUnlimited);
}

Result<void> check_values(const NodeReported& reported) {
  if (reported.node.empty() || reported.node.size() > kNodeNameMax) {
    return bad_value("node", quoted(reported.node), "a name of 1 to 253 bytes");
  }
  TG_TRY_VOID(check_range("npus", static_cast<std::int64_t>(reported.npus.size()), 0, kNpusPerNodeMax));
  for (std::size_t i = 0; i < reported.npus.size(); ++i) {
    const NpuReport& npu = reported.npus[i];
    if (i > 0 && reported.npus[i - 1].physical_id >= npu.physical_id) {
      return bad_value("npus.physicalId", std::to_string(npu.physical_id), "above the one before it");
    }
    TG_TRY_VOID(check_values(npu));
  }
  return {};
}

Result<void> check_values(const NpuReport& npu) {
  TG_TRY_VOID(check_name("npus.chip", npu.chip));
  TG_TRY_VOID(check_memory("npus.memory", npu.memory));
  TG_TRY_VOID(check_range("npus.aiCores", npu.ai_cores, 0, kAiCoresMax));
  if (!is_known(npu.health)) return bad_value("npus.health", "unknown", "one of the known states");
  TG_TRY_VOID(check_name("npus.templateSet", npu.template_set));
  TG_TRY_VOID(check_range("npus.strays", static_cast<std::int64_t>(npu.strays.size()), 0, kSlicesPerChipMax));
  for (std::size_t i = 0; i < npu.strays.size(); ++i) {
    const StraySlice& stray = npu.strays[i];
    if (i > 0 && npu.strays[i - 1].id >= stray.id) {
      return bad_value("npus.strays.id", std::to_string(stray.id), "above the one before it");
    }
    TG_TRY_VOID(check_name("npus.strays.template", stray.template_name));
    TG_TRY_VOID(check_range("npus.strays.vgroup", stray.vgroup, kNoVgroup, kSlicesPerChipMax - 1));
  }
  return {};
}

Result<void> check_values(const SlicePlacement& slice) {
  if (slice.template_name.empty()) return bad_value("slice.template", "empty", "the name of a template");
  TG_TRY_VOID(check_name("slice.template", slice.template_name));
  TG_TRY_VOID(check_range("slice.vgroup", slice.vgroup, kNoVgroup, kSlicesPerChipMax - 1));
  TG_TRY_VOID(check_memory("slice.memory", slice.memory));
  TG_TRY_VOID(check_memory("slice.usableMemory", slice.usable_memory));
  return check_range("slice.aiCores", slice.ai_cores, 0, kAiCoresMax);
}

Result<void> check_values(const TenantSpec& spec) {
  if (!is_valid_tenant_name(spec.name)) {
    return bad_value("name", quoted(spec.name),
                     "1 to 63 of a-z, 0-9 and '-', not beginning or ending with '-'");
  }
  const Quota& quota = spec.quota;
  TG_TRY_VOID(check_limit("npus", quota.npus));
  TG_TRY_VOID(check_limit("memoryPerNpu", quota.memory_per_npu.count));
  TG_TRY_VOID(check_limit("memoryTotal", quota.memory_total.count));
  TG_TRY_VOID(check_limit("aiCores", quota.ai_cores));
  TG_TRY_VOID(check_limit("runningJobs", quota.running_jobs));
  TG_TRY_VOID(check_limit("runTime", quota.run_time_ms));
  TG_TRY_VOID(check_limit("bandwidth", quota.bandwidth_bps));
  return check_range("priorities", quota.priorities.bits, 0, PrioritySet::all().bits);
}

Result<void> check_values(const JobSpec& spec) {
  if (spec.id.value > kJobIdMax) return bad_value("id", std::to_string(spec.id.value), "below 2^61");
  if (spec.request.has_parts()) return bad_value("request", "a handle of parts", "a request");
  const bool is_slice = spec.request.kind == RequestKind::kSlice;
  TG_TRY_VOID(check_range("npus", spec.request.npus, 1, is_slice ? 1 : kNpusPerJobMax));
  TG_TRY_VOID(check_asked_memory(is_slice ? "slice.memory" : "memory", spec.request.memory_per_npu));
  TG_TRY_VOID(check_range(is_slice ? "slice.aiCores" : "aiCores", spec.request.ai_cores, 0, kAiCoresMax));
  TG_TRY_VOID(check_range("corePercent", spec.request.core_percent, 0, 100));
  TG_TRY_VOID(check_range("bandwidth", spec.bandwidth_bps, 0, kBandwidthMax));
  TG_TRY_VOID(check_range("timeLimit", spec.time_limit_ms, 1, kUnlimited));
  TG_TRY_VOID(check_range("restartsMax", spec.restarts_max, 0, kAttemptMax));
  TG_TRY_VOID(
      check_range("request", static_cast<int>(spec.request.kind), 0, static_cast<int>(RequestKind::kShare)));
  TG_TRY_VOID(
      check_range("restart", static_cast<int>(spec.restart), 0, static_cast<int>(RestartPolicy::kOnFailure)));
  return check_range("priority", static_cast<int>(spec.priority), 0, kPriorityCount - 1);
}

Result<void> check_values(const std::vector<Part>& parts) {
  TG_TRY_VOID(check_range("parts", static_cast<std::int64_t>(parts.size()), 1, kPartsPerJobMax));
  std::int64_t npus = 0;
  for (const Part& part : parts) {
    const bool is_slice = part.kind == RequestKind::kSlice;
    TG_TRY_VOID(
        check_range("parts.kind", static_cast<int>(part.kind), 0, static_cast<int>(RequestKind::kSlice)));
    TG_TRY_VOID(check_range("parts.npus", part.npus, 1, is_slice ? 1 : kNpusPerJobMax));
    TG_TRY_VOID(check_range("parts.memory", part.memory_per_npu.count, 0, kMemoryMax));
    TG_TRY_VOID(check_range("parts.aiCores", part.ai_cores, 0, kAiCoresMax));
    TG_TRY_VOID(check_name("parts.chip", part.chip));
    npus += part.npus;
  }
  return check_range("parts.npus", npus, 1, kNpusPerJobMax);
}

}  // namespace tangram

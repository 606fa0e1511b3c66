#include "kube/admission/limits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/quote.h"

namespace tangram::kube::admission {
namespace {

struct Held {
  std::int64_t npus = 0;
  std::int64_t memory_mib = 0;
  std::int64_t ai_cores = 0;
};

Held held_by(const Rounded& container, SliceCount slices) {
  const ContainerGrant& grant = container.granted;
  const bool uncounted = grant.kind == GrantKind::kSlice && slices == SliceCount::kNone;
  const std::int64_t count = grant.request.count;
  return {uncounted ? 0 : count, count * grant.request.memory_mib.value_or(0), container.ai_cores};
}

Held sum(const Held& a, const Held& b) {
  return {a.npus + b.npus, a.memory_mib + b.memory_mib, a.ai_cores + b.ai_cores};
}

Held most(const Held& a, const Held& b) {
  return {std::max(a.npus, b.npus), std::max(a.memory_mib, b.memory_mib), std::max(a.ai_cores, b.ai_cores)};
}

tl::unexpected<Error> above(const TenantLimits& tenant, std::string reason, const std::string& what,
                            const std::string& asked, const std::string& limit) {
  return fail(
      Code::kPolicyRefused, std::move(reason),
      "the Pod asks for " + asked + " " + what + ", but tenant " + tenant.name + " may have at most " + limit,
      "ask for at most " + limit + ", or have the Tenant's spec.quota raised");
}

std::string allowed_priorities(PrioritySet priorities) {
  std::string text;
  for (int n = 0; n < kPriorityCount; ++n) {
    const auto priority = static_cast<Priority>(n);
    if (!priorities.contains(priority)) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(priority));
  }
  return text.empty() ? "none" : text;
}

Result<void> check_amounts(const TenantLimits& tenant, const PodDemand& demand) {
  const Quota& quota = tenant.quota;
  const auto mib = [](std::int64_t amount) {
    return amount < (kUnlimited >> 20) ? Bytes::mib(amount) : Bytes::unlimited();
  };
  if (demand.npus > quota.npus) {
    return above(tenant, "quota.npus.above_limit", "NPUs at once", std::to_string(demand.npus),
                 std::to_string(quota.npus));
  }
  if (mib(demand.memory_per_npu_mib) > quota.memory_per_npu) {
    return above(tenant, "quota.memory_per_npu.above_limit", "of memory per NPU",
                 format_bytes(mib(demand.memory_per_npu_mib)), format_bytes(quota.memory_per_npu));
  }
  if (mib(demand.memory_mib) > quota.memory_total) {
    return above(tenant, "quota.memory_total.above_limit", "of device memory",
                 format_bytes(mib(demand.memory_mib)), format_bytes(quota.memory_total));
  }
  if (demand.ai_cores > quota.ai_cores) {
    return above(tenant, "quota.ai_cores.above_limit", "AI cores", std::to_string(demand.ai_cores),
                 std::to_string(quota.ai_cores));
  }
  if (demand.bandwidth_bps > quota.bandwidth_bps) {
    return above(tenant, "quota.bandwidth.above_limit", "of bandwidth",
                 format_bits_per_second(demand.bandwidth_bps), format_bits_per_second(quota.bandwidth_bps));
  }
  return {};
}

Result<void> check_one(const TenantLimits& tenant, const PodDemand& demand) {
  const Quota& quota = tenant.quota;
  if (quota.running_jobs < 1) {
    return fail(Code::kPolicyRefused, "quota.running_jobs.above_limit",
                "tenant " + tenant.name + " may not run any Pod with NPUs",
                "have the Tenant's spec.quota.runningJobs raised");
  }
  if (!quota.priorities.contains(demand.priority)) {
    return fail(Code::kPolicyRefused, "quota.priority.forbidden",
                "the Pod's priority is " + std::string(to_string(demand.priority)) + ", but tenant " +
                    tenant.name + " may use: " + allowed_priorities(quota.priorities),
                "choose another in the annotation tangram.dev/priority");
  }
  // A Pod's limit has whole seconds, and at least one.
  if (demand.time_limit_ms && *demand.time_limit_ms > std::max<std::int64_t>(quota.run_time_ms, 1'000)) {
    return above(tenant, "quota.run_time.above_limit", "of run time",
                 format_duration_ms(*demand.time_limit_ms), format_duration_ms(quota.run_time_ms));
  }
  return check_amounts(tenant, demand);
}

}  // namespace

PodDemand demand_of(std::span<const Rounded> containers, SliceCount slices) {
  Held sidecars;
  Held peak;
  Held main;
  PodDemand demand;
  for (const Rounded& container : containers) {
    const Held held = held_by(container, slices);
    demand.memory_per_npu_mib =
        std::max(demand.memory_per_npu_mib, container.requested.memory_mib.value_or(0));
    if (container.requested.sidecar) {
      sidecars = sum(sidecars, held);
      peak = most(peak, sidecars);
    } else if (container.requested.init) {
      peak = most(peak, sum(sidecars, held));
    } else {
      main = sum(main, held);
    }
  }
  peak = most(peak, sum(sidecars, main));
  demand.npus = peak.npus;
  demand.memory_mib = peak.memory_mib;
  demand.ai_cores = peak.ai_cores;
  return demand;
}

Result<void> check_limits(std::span<const TenantLimits> chain, const PodDemand& demand) {
  for (const TenantLimits& tenant : chain) TG_TRY_VOID(check_one(tenant, demand));
  return {};
}

std::optional<std::int64_t> run_time_limit_ms(std::span<const TenantLimits> chain) {
  std::int64_t shortest = kUnlimited;
  for (const TenantLimits& tenant : chain) shortest = std::min(shortest, tenant.quota.run_time_ms);
  return shortest < kUnlimited ? std::optional(shortest) : std::nullopt;
}

}  // namespace tangram::kube::admission

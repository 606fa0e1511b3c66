// Whether a Pod could ever run within its tenant's limits: what admission refuses at once. Who runs when is
// the manager's business: nothing here counts what others hold. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/admission/rounding.h"
#include "wire/types.h"

namespace tangram::kube::admission {

// What a Pod holds at once at the most. Init containers run one after the other, before the main ones;
// sidecars run beside all that come after them.
struct PodDemand {
  std::int64_t npus = 0;
  std::int64_t memory_mib = 0;          // of all NPUs
  std::int64_t memory_per_npu_mib = 0;  // the most that a container asked for; 0: none said
  std::int64_t ai_cores = 0;
  Priority priority = Priority::kNormal;
  std::optional<std::int64_t> time_limit_ms{};
  std::int64_t bandwidth_bps = 0;

  friend bool operator==(const PodDemand&, const PodDemand&) = default;
};

// NPUs, memory and cores; in the order of the Pod's containers. `slices`: how a slice counts among NPUs.
PodDemand demand_of(std::span<const Rounded> containers, SliceCount slices);

// A tenant with its limits.
struct TenantLimits {
  std::string name;
  Quota quota;
};

// `chain`: the Pod's tenant and those above it. kPolicyRefused with the reasons of the quota's dimensions
// ("quota.npus.above_limit"); the message says what is allowed.
Result<void> check_limits(std::span<const TenantLimits> chain, const PodDemand& demand);

// The shortest run-time limit of the chain; none: unlimited.
std::optional<std::int64_t> run_time_limit_ms(std::span<const TenantLimits> chain);

}  // namespace tangram::kube::admission

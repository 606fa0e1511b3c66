// What stands in a job's way, with its numbers, as far as one look at the state shows it. Private to
// src/scheduler.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/scheduler.h"
#include "scheduler/state.h"

namespace tangram {

// One limit of one tenant, if `charge` more does not fit it. Without holders.
std::optional<Blocker> limit_blocker(const CoreState& state, TenantId at, Countable countable,
                                     const Amounts& charge);

// Limits of `at` that no job of `spec` ever fits: its priority, its memory per NPU, its time limit.
std::optional<Blocker> priority_blocker(const CoreState& state, TenantId at, const JobSpec& spec);
std::optional<Blocker> memory_blocker(const CoreState& state, TenantId at, const JobSpec& spec);
std::optional<Blocker> run_time_blocker(const CoreState& state, TenantId at, const JobSpec& spec);

// The NPUs of the kinds from `first_kind` on: how many there are, held, free, not healthy. Without holders.
Blocker capacity_blocker(const CoreState& state, ReasonCode reason, std::int32_t npus,
                         std::uint32_t first_kind);

// What a group that fits no limit on any kind, but each limit on some kind, would charge there: calls
// `visit(charge)` for each kind that could hold the request.
template <class Visit>
void each_charge(const Fleet& fleet, const JobSpec& spec, std::uint32_t first_kind, Visit visit) {
  for (std::uint32_t kind = first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < spec.request.npus) continue;
    visit(charge_on(fleet, kind, spec.request, spec.bandwidth_bps));
  }
}

}  // namespace tangram

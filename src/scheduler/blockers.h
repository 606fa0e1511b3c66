// What stands in a job's way, with its numbers, as far as one look at the state shows it. Private to
// src/scheduler.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

// The NPUs that could be given for a need, were they well and free.
class Candidates {
 public:
  Candidates(const Fleet& fleet, const Need& need)
      : need_(need), offers_(need.is_slice() ? fleet.offers(ask_of(need)) : std::vector<SliceOffer>{}) {}

  bool contains(const Fleet::Npu& npu) const;
  bool has_kind(std::uint32_t kind) const;
  const std::vector<SliceOffer>& offers() const { return offers_; }  // of a need of a slice

 private:
  const Need need_;
  const std::vector<SliceOffer> offers_;
};

// Those NPUs: how many there are, held, free, not healthy. Without holders.
Blocker capacity_blocker(const CoreState& state, ReasonCode reason, const Need& need);

// Says in the blocker what the request comes to (Blocker::granted).
void tell_grant(const CoreState& state, const JobSpec& spec, const Need& need, Blocker& blocker);

// What a group that fits no limit on any kind, but each limit on some kind, would charge there: calls
// `visit(charge)` for each kind that could hold the request.
template <class Visit>
void each_charge(const CoreState& state, const JobSpec& spec, const Need& need, Visit visit) {
  const Fleet& fleet = state.fleet;
  if (need.is_slice()) {
    for (const SliceOffer& offer : fleet.offers(ask_of(need))) {
      visit(charge_on(state, offer, spec.bandwidth_bps));
    }
    return;
  }
  for (std::uint32_t kind = need.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < spec.request.npus) continue;
    visit(charge_on(fleet, kind, spec.request, spec.bandwidth_bps));
  }
}

}  // namespace tangram

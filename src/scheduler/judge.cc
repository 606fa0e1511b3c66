#include "scheduler/judge.h"

#include <algorithm>

#include "base/invariant.h"

namespace tangram {
namespace {

Parking park_at(TenantId tenant, Countable countable) {
  return {tenant, static_cast<Slot>(countable)};
}

Verdict verdict(Verdict::Outcome outcome, ReasonCode reason, Parking parking = {}) {
  Verdict result;
  result.outcome = outcome;
  result.reason = reason;
  result.parking = parking;
  return result;
}

}  // namespace

Judge::Judge(const CoreState& state, TimeMs now)
    : state_(state),
      now_(now),
      kept_from_(state.fleet.kind_count(), kNotKept),
      keepers_(state.fleet.kind_count()),
      allowed_(state.fleet.kind_count(), 0) {}

Verdict Judge::judge(Handle handle, Rank rank) {
  const Group& group = state_.queue.group(handle);
  TG_ASSERT(group.exists, "only a group can be judged");
  std::optional<Verdict> limits = judge_limits(group);
  if (limits && limits->outcome == Verdict::Outcome::kNever) return *limits;
  const ReasonCode never = impossible(group.key.request.npus, group.first_kind);
  if (never != ReasonCode::kNone) return verdict(Verdict::Outcome::kCapacity, never);
  if (limits) return *limits;

  const TenantTree& tenants = state_.tenants;
  for (TenantId at = group.key.tenant; at.valid(); at = tenants.parent(at)) {
    const std::optional<QuotaKeeper> keeper = quota_keeper(at);
    if (!keeper || keeper->rank >= rank) continue;
    Verdict kept = verdict(Verdict::Outcome::kQuotaKept, ReasonCode::kQuotaKept, {at, Slot::kKept});
    kept.kept_for = keeper->job;
    return kept;
  }

  allow_kinds(group);
  if (std::find(allowed_.begin(), allowed_.end(), std::uint8_t{1}) == allowed_.end()) {
    // Each kind is too much for some limit, but no limit is too small for all kinds: the group stays where it
    // is.
    std::uint32_t kind = group.first_kind;
    while (state_.fleet.kind(kind).present_on_node_max < group.key.request.npus) ++kind;
    const Amounts charge = charge_on(state_.fleet, kind, group.key.request, group.key.bandwidth_bps);
    const std::optional<QuotaBlock> block = tenants.first_block(group.key.tenant, charge);
    TG_ASSERT(block.has_value(), "a kind that is not allowed is blocked");
    return verdict(Verdict::Outcome::kQuota, wait_reason(block->countable));
  }
  return judge_capacity(group);
}

std::optional<Verdict> Judge::judge_limits(const Group& group) const {
  const TenantTree& tenants = state_.tenants;
  const Parking never{group.key.tenant, Slot::kNever};
  std::optional<Verdict> wait;
  for (TenantId at = group.key.tenant; at.valid(); at = tenants.parent(at)) {
    if (!tenants.allows(at, group.key.priority)) {
      return verdict(Verdict::Outcome::kNever, ReasonCode::kQuotaPriority, never);
    }
    if (tenants.memory_per_npu(at) < group.key.request.memory_per_npu) {
      return verdict(Verdict::Outcome::kNever, ReasonCode::kQuotaMemoryPerNpu, never);
    }
    const Amounts& limit = tenants.limit(at);
    const Amounts& used = tenants.used(at);
    for (const Countable countable : kCountables) {
      const std::size_t i = index_of(countable);
      if (group.demand[i] == 0) continue;
      if (group.demand[i] > limit[i])
        return verdict(Verdict::Outcome::kNever, never_reason(countable), never);
      if (!wait && used[i] + group.demand[i] > limit[i]) {
        wait = verdict(Verdict::Outcome::kQuota, wait_reason(countable), park_at(at, countable));
      }
    }
  }
  return wait;
}

ReasonCode Judge::impossible(std::int32_t npus, std::uint32_t first_kind) const {
  const Fleet& fleet = state_.fleet;
  if (fleet.present_count() == 0) return ReasonCode::kNoDevices;
  if (!fleet.exists(1, first_kind)) return ReasonCode::kMemoryNever;
  if (!fleet.exists(npus, first_kind)) return ReasonCode::kNpusNever;
  return ReasonCode::kNone;
}

void Judge::allow_kinds(const Group& group) {
  const Fleet& fleet = state_.fleet;
  std::fill(allowed_.begin(), allowed_.end(), std::uint8_t{0});
  std::uint32_t candidates = 0;
  std::uint32_t last = group.first_kind;
  for (std::uint32_t kind = group.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < group.key.request.npus) continue;
    ++candidates;
    last = kind;
  }
  if (candidates == 1) {
    allowed_[last] = 1;  // judge_limits() has looked at exactly this charge
    return;
  }
  for (std::uint32_t kind = group.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < group.key.request.npus) continue;
    const Amounts charge = charge_on(fleet, kind, group.key.request, group.key.bandwidth_bps);
    allowed_[kind] = state_.tenants.first_block(group.key.tenant, charge) ? 0 : 1;
  }
}

Verdict Judge::judge_capacity(const Group& group) const {
  const Fleet& fleet = state_.fleet;
  const std::int32_t npus = group.key.request.npus;
  if (const std::optional<Place> place = fleet.choose(npus, group.first_kind, {kept_from_, allowed_})) {
    Verdict start = verdict(Verdict::Outcome::kStart, ReasonCode::kNone);
    start.place = *place;
    return start;
  }
  if (const std::optional<Place> kept = fleet.choose(npus, group.first_kind, {{}, allowed_})) {
    Verdict result = verdict(Verdict::Outcome::kCapacity, ReasonCode::kNpusKept);
    result.kept_for = keepers_[kept->kind];
    return result;
  }
  const bool unhealthy =
      !fleet.exists_healthy(npus, group.first_kind) || fleet.fits_if_healthy(npus, group.first_kind);
  return verdict(Verdict::Outcome::kCapacity, unhealthy ? ReasonCode::kNpusUnhealthy : ReasonCode::kNpusBusy);
}

void Judge::keep_npus(Handle handle, JobId job) {
  const Group& group = state_.queue.group(handle);
  TG_ASSERT(job.valid() && group.exists, "NPUs are kept for a queued job");
  for (std::uint32_t kind = group.first_kind; kind < kept_from_.size(); ++kind) {
    const std::int32_t npus = group.key.request.npus;
    if (allowed_[kind] == 0 || state_.fleet.kind(kind).healthy_on_node_max < npus) continue;
    keeps_npus_ = true;
    kept_from_[kind] = std::min(kept_from_[kind], npus);
    if (!keepers_[kind].valid()) keepers_[kind] = job;
  }
}

void Judge::forget_kept() {
  keeps_npus_ = false;
  std::fill(kept_from_.begin(), kept_from_.end(), kNotKept);
  std::fill(keepers_.begin(), keepers_.end(), JobId());
}

std::optional<QuotaKeeper> Judge::quota_keeper(TenantId tenant) const {
  const WaitQueue& queue = state_.queue;
  const std::uint8_t slots = queue.parked_slots(tenant);
  std::optional<QuotaKeeper> keeper;
  for (const Countable countable : kCountables) {
    if ((slots >> index_of(countable) & 1) == 0) continue;
    const std::int64_t headroom = state_.tenants.headroom(tenant, countable);
    const Bucket& bucket = queue.bucket(tenant, static_cast<Slot>(countable));
    for (int priority = 0; priority < kPriorityCount; ++priority) {
      const std::uint64_t first = rank_key(static_cast<Priority>(priority), JobId(0));
      const std::uint64_t end = end_of_class(static_cast<Priority>(priority));
      auto at = std::lower_bound(bucket.entries.begin(), bucket.entries.end(), first,
                                 [](const Entry& entry, std::uint64_t key) { return entry.key < key; });
      for (; at != bucket.entries.end() && at->key < end && (!keeper || at->key < keeper->rank); ++at) {
        if (!state_.is_overdue(at->queued_at, now_)) {
          if (at->requeued) continue;
          break;  // those behind waited less
        }
        const Group& group = queue.group(at->group);
        // Nothing is kept for a job that today's healthy NPUs could not hold.
        if (at->demand <= headroom || !state_.fleet.exists_healthy(group.key.request.npus, group.first_kind))
          continue;
        keeper = QuotaKeeper{at->key, queue.job(at->job).spec.id};
        break;
      }
    }
  }
  return keeper;
}

}  // namespace tangram

#include "scheduler/judge.h"

#include <algorithm>
#include <utility>

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

ReasonCode reason_of(Shortage shortage) {
  switch (shortage) {
    case Shortage::kNpus:
      return ReasonCode::kNpusBusy;
    case Shortage::kMemory:
      return ReasonCode::kMemoryBusy;
    case Shortage::kSlots:
      return ReasonCode::kSlotsBusy;
    case Shortage::kResidual:
      return ReasonCode::kSlicesResidual;
  }
  return ReasonCode::kNpusBusy;
}

Judge::Judge(const CoreState& state, TimeMs now)
    : state_(state),
      now_(now),
      admits_only_(state.settings.places_elsewhere),
      kept_from_(state.fleet.kind_count(), kNotKept),
      keepers_(state.fleet.kind_count()),
      allowed_(state.fleet.kind_count(), 0) {}

Verdict Judge::judge(Handle handle, Rank rank) {
  const Group& group = state_.queue.group(handle);
  TG_ASSERT(group.exists, "only a group can be judged");
  std::optional<Verdict> limits = judge_limits(group);
  if (limits && limits->outcome == Verdict::Outcome::kNever) return *limits;
  const ReasonCode never = impossible(group.need);
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
  if (admits_only_) return verdict(Verdict::Outcome::kStart, ReasonCode::kNone);

  if (group.need.is_slice()) {
    allow_offers(group);
    if (!allowed_offers_.empty()) return judge_offers();
    return over_each_quota(group, charge_on(state_, offers(group.need).front(), group.key.bandwidth_bps));
  }
  allow_kinds(group);
  if (std::find(allowed_.begin(), allowed_.end(), std::uint8_t{1}) == allowed_.end()) {
    std::uint32_t kind = group.need.first_kind;
    while (state_.fleet.kind(kind).present_on_node_max < group.key.request.npus) ++kind;
    return over_each_quota(group, charge_on(state_.fleet, kind, group.key.request, group.key.bandwidth_bps));
  }
  return judge_capacity(group);
}

// Each kind is too much for some limit, but no limit is too small for all kinds: the group stays where it is.
Verdict Judge::over_each_quota(const Group& group, const Amounts& charge) const {
  const std::optional<QuotaBlock> block = state_.tenants.first_block(group.key.tenant, charge);
  TG_ASSERT(block.has_value(), "a kind that is not allowed is blocked");
  return verdict(Verdict::Outcome::kQuota, wait_reason(block->countable));
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

ReasonCode Judge::impossible(const Need& need) const {
  if (admits_only_) return ReasonCode::kNone;
  const Fleet& fleet = state_.fleet;
  if (fleet.present_count() == 0) return ReasonCode::kNoDevices;
  if (need.is_slice()) {
    if (!offers(need).empty()) return ReasonCode::kNone;
    if (!fleet.any_cuttable()) return ReasonCode::kSliceUnsupported;
    return fleet.offers({need.memory, 0}).empty() ? ReasonCode::kMemoryNever : ReasonCode::kAiCoresNever;
  }
  if (!fleet.exists(1, need.first_kind)) return ReasonCode::kMemoryNever;
  if (!fleet.exists(need.npus, need.first_kind)) return ReasonCode::kNpusNever;
  return ReasonCode::kNone;
}

const std::vector<SliceOffer>& Judge::offers(const Need& need) const {
  for (const KnownOffers& known : known_offers_) {
    if (known.need == need) return known.offers;
  }
  known_offers_.push_front({need, state_.fleet.offers(ask_of(need))});
  return known_offers_.front().offers;
}

ReasonCode Judge::busy_reason(const Need& need) const {
  const Fleet& fleet = state_.fleet;
  const bool heals = need.is_slice() ? fleet.fits_if_healthy(offers(need))
                                     : fleet.fits_if_healthy(need.npus, need.first_kind);
  if (heals || !exists_healthy(need)) return ReasonCode::kNpusUnhealthy;
  return reason_of(need.is_slice() ? fleet.shortage(offers(need))
                                   : fleet.shortage(need.npus, need.first_kind, {}));
}

void Judge::allow_kinds(const Group& group) {
  const Fleet& fleet = state_.fleet;
  std::fill(allowed_.begin(), allowed_.end(), std::uint8_t{0});
  std::uint32_t candidates = 0;
  std::uint32_t last = group.need.first_kind;
  for (std::uint32_t kind = group.need.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < group.key.request.npus) continue;
    ++candidates;
    last = kind;
  }
  if (candidates == 1) {
    allowed_[last] = 1;  // judge_limits() has looked at exactly this charge
    return;
  }
  for (std::uint32_t kind = group.need.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < group.key.request.npus) continue;
    const Amounts charge = charge_on(fleet, kind, group.key.request, group.key.bandwidth_bps);
    allowed_[kind] = state_.tenants.first_block(group.key.tenant, charge) ? 0 : 1;
  }
}

void Judge::allow_offers(const Group& group) {
  std::fill(allowed_.begin(), allowed_.end(), std::uint8_t{0});
  allowed_offers_.clear();
  for (const SliceOffer& offer : offers(group.need)) {
    const Amounts charge = charge_on(state_, offer, group.key.bandwidth_bps);
    if (state_.tenants.first_block(group.key.tenant, charge)) continue;
    allowed_offers_.push_back(offer);
    allowed_[offer.kind] = 1;
  }
}

Verdict Judge::judge_offers() const {
  const Fleet& fleet = state_.fleet;
  if (std::optional<SlicePlace> place = fleet.choose(allowed_offers_, kept())) {
    Verdict start = verdict(Verdict::Outcome::kStart, ReasonCode::kNone);
    start.slice_place = std::move(place);
    return start;
  }
  if (const std::optional<SlicePlace> kept = fleet.choose(allowed_offers_, {})) {
    Verdict result = verdict(Verdict::Outcome::kCapacity, ReasonCode::kNpusKept);
    result.kept_for = keepers_[allowed_offers_[kept->offer].kind];
    return result;
  }
  const bool unhealthy = !fleet.exists_healthy(allowed_offers_) || fleet.fits_if_healthy(allowed_offers_);
  return verdict(Verdict::Outcome::kCapacity,
                 unhealthy ? ReasonCode::kNpusUnhealthy : reason_of(fleet.shortage(allowed_offers_)));
}

Verdict Judge::judge_capacity(const Group& group) const {
  const Fleet& fleet = state_.fleet;
  const std::int32_t npus = group.key.request.npus;
  const std::uint32_t first_kind = group.need.first_kind;
  if (const std::optional<Place> place = fleet.choose(npus, first_kind, {kept_from_, allowed_})) {
    Verdict start = verdict(Verdict::Outcome::kStart, ReasonCode::kNone);
    start.place = *place;
    return start;
  }
  if (const std::optional<Place> kept = fleet.choose(npus, first_kind, {{}, allowed_})) {
    Verdict result = verdict(Verdict::Outcome::kCapacity, ReasonCode::kNpusKept);
    result.kept_for = keepers_[kept->kind];
    return result;
  }
  const bool unhealthy = !fleet.exists_healthy(npus, first_kind) || fleet.fits_if_healthy(npus, first_kind);
  return verdict(
      Verdict::Outcome::kCapacity,
      unhealthy ? ReasonCode::kNpusUnhealthy : reason_of(fleet.shortage(npus, first_kind, {{}, allowed_})));
}

void Judge::keep_npus(Handle handle, JobId job) {
  const Group& group = state_.queue.group(handle);
  TG_ASSERT(job.valid() && group.exists, "NPUs are kept for a queued job");
  for (std::uint32_t kind = group.need.first_kind; kind < kept_from_.size(); ++kind) {
    const std::int32_t npus = group.key.request.npus;
    if (allowed_[kind] == 0 || state_.fleet.kind(kind).healthy_on_node_max < npus) continue;
    kept_from_[kind] = std::min(kept_from_[kind], npus);
    if (!keepers_[kind].valid()) keepers_[kind] = job;
  }
}

void Judge::forget_kept() {
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
        if (at->demand <= headroom || !(admits_only_ || exists_healthy(group.need))) continue;
        keeper = QuotaKeeper{at->key, queue.job(at->job).spec.id};
        break;
      }
    }
  }
  return keeper;
}

}  // namespace tangram

#include "scheduler/blockers.h"

#include <algorithm>

#include "scheduler/judge.h"

namespace tangram {
namespace {

constexpr std::size_t kListedMax = 16;

std::optional<Countable> countable_of(ReasonCode reason) {
  for (const Countable countable : kCountables) {
    if (reason == wait_reason(countable) || reason == never_reason(countable)) return countable;
  }
  return std::nullopt;
}

class Finder {
 public:
  Finder(const CoreState& state, const JobSpec& spec, ReasonCode reason)
      : state_(state), spec_(spec), reason_(reason) {}

  std::optional<Blocker> find() const {
    std::optional<Blocker> blocker = look();
    if (blocker) tell_grant(state_, spec_, demand().need, *blocker);
    return blocker;
  }

 private:
  std::optional<Blocker> look() const {
    switch (reason_) {
      case ReasonCode::kQuotaNpus:
      case ReasonCode::kQuotaMemoryTotal:
      case ReasonCode::kQuotaAiCores:
      case ReasonCode::kQuotaRunningJobs:
      case ReasonCode::kQuotaBandwidth:
      case ReasonCode::kQuotaNpusNever:
      case ReasonCode::kQuotaMemoryTotalNever:
      case ReasonCode::kQuotaAiCoresNever:
      case ReasonCode::kQuotaRunningJobsNever:
      case ReasonCode::kQuotaBandwidthNever:
        return find_limit();
      case ReasonCode::kQuotaPriority:
        return find_on_path([this](TenantId at) { return priority_blocker(state_, at, spec_); });
      case ReasonCode::kQuotaMemoryPerNpu:
        return find_on_path([this](TenantId at) { return memory_blocker(state_, at, spec_); });
      case ReasonCode::kQuotaRunTime:
        return find_on_path([this](TenantId at) { return run_time_blocker(state_, at, spec_); });
      case ReasonCode::kQuotaKept:
        return find_kept_quota();
      case ReasonCode::kNpusKept:
        return find_kept_npus();
      case ReasonCode::kNpusBusy:
      case ReasonCode::kNpusUnhealthy:
      case ReasonCode::kNpusNever:
      case ReasonCode::kMemoryNever:
      case ReasonCode::kAiCoresNever:
      case ReasonCode::kNoDevices:
      case ReasonCode::kSlotsBusy:
      case ReasonCode::kMemoryBusy:
      case ReasonCode::kSlicesResidual:
        return capacity_blocker(state_, reason_, demand().need);
      case ReasonCode::kNone:
      case ReasonCode::kSliceUnsupported:
      case ReasonCode::kShareUnsupported:
        break;  // without numbers
    }
    return std::nullopt;
  }

  Demand demand() const { return demand_of(state_, spec_.request, spec_.bandwidth_bps); }

  template <class Look>
  std::optional<Blocker> find_on_path(Look look) const {
    for (TenantId at = spec_.tenant; at.valid(); at = state_.tenants.parent(at)) {
      if (std::optional<Blocker> blocker = look(at)) return blocker;
    }
    return std::nullopt;
  }

  std::optional<Blocker> find_limit() const {
    const std::optional<Countable> countable = countable_of(reason_);
    if (!countable) return std::nullopt;
    const Demand least = demand();
    const auto with = [&](const Amounts& charge) {
      return find_on_path([&](TenantId at) -> std::optional<Blocker> {
        std::optional<Blocker> blocker = limit_blocker(state_, at, *countable, charge);
        if (blocker && blocker->reason == reason_) return blocker;
        return std::nullopt;
      });
    };
    std::optional<Blocker> found = with(least.least);
    // No limit is too small for every kind, but each kind is too much for some limit.
    if (!found) {
      each_charge(state_, spec_, least.need, [&](const Amounts& charge) {
        if (!found) found = with(charge);
      });
    }
    return found;
  }

  Rank own_rank() const {
    const std::optional<Handle> job = state_.queue.find_job(spec_.id);
    if (job) return state_.rank(state_.queue.job(*job), state_.clock);
    return rank_key(spec_.priority, spec_.id) | kNotOverdue;  // refused before it waited
  }

  std::optional<Blocker> find_kept_quota() const {
    const Judge judge(state_, state_.clock);
    const Rank rank = own_rank();
    return find_on_path([&](TenantId at) -> std::optional<Blocker> {
      const std::optional<QuotaKeeper> keeper = judge.quota_keeper(at);
      if (!keeper || keeper->rank >= rank) return std::nullopt;
      Blocker blocker;
      blocker.reason = reason_;
      blocker.tenant = at;
      blocker.kept_for = keeper->job;
      return blocker;
    });
  }

  std::optional<Blocker> find_kept_npus() const {
    const Need need = demand().need;
    Rank best = own_rank();
    JobId keeper;
    for (const DemandClass& waiting : state_.queue.demand_classes()) {
      if (!shares_a_kind(waiting.need, need)) continue;
      const std::optional<Entry> first = first_overdue(waiting.bucket);
      if (!first || first->key >= best) continue;
      best = first->key;
      keeper = state_.queue.job(first->job).spec.id;
    }
    if (!keeper.valid()) return std::nullopt;
    Blocker blocker = capacity_blocker(state_, reason_, need);
    blocker.kept_for = keeper;
    return blocker;
  }

  // Whether both could use NPUs of one kind.
  bool shares_a_kind(const Need& one, const Need& other) const {
    const Fleet& fleet = state_.fleet;
    const Candidates of_one(fleet, one);
    const Candidates of_other(fleet, other);
    for (std::uint32_t kind = 0; kind < fleet.kind_count(); ++kind) {
      const std::int32_t most = fleet.kind(kind).healthy_on_node_max;
      const bool is_large = most >= one.npus && most >= other.npus;
      if (is_large && of_one.has_kind(kind) && of_other.has_kind(kind)) return true;
    }
    return false;
  }

  std::optional<Entry> first_overdue(const Bucket& bucket) const {
    for (int priority = 0; priority < kPriorityCount; ++priority) {
      const std::uint64_t begin = rank_key(static_cast<Priority>(priority), JobId(0));
      const std::uint64_t end = end_of_class(static_cast<Priority>(priority));
      auto at = std::lower_bound(bucket.entries.begin(), bucket.entries.end(), begin,
                                 [](const Entry& entry, std::uint64_t key) { return entry.key < key; });
      for (; at != bucket.entries.end() && at->key < end; ++at) {
        if (state_.is_overdue(at->queued_at, state_.clock)) return *at;
        if (!at->requeued) break;  // those behind waited less
      }
    }
    return std::nullopt;
  }

  const CoreState& state_;
  const JobSpec& spec_;
  const ReasonCode reason_;
};

}  // namespace

std::optional<Blocker> limit_blocker(const CoreState& state, TenantId at, Countable countable,
                                     const Amounts& charge) {
  const std::size_t i = index_of(countable);
  Blocker blocker;
  blocker.asked = charge[i];
  blocker.used = state.tenants.used(at)[i];
  blocker.limit = state.tenants.limit(at)[i];
  if (blocker.asked == 0 || blocker.used + blocker.asked <= blocker.limit) return std::nullopt;
  blocker.reason = blocker.asked > blocker.limit ? never_reason(countable) : wait_reason(countable);
  blocker.tenant = at;
  blocker.dimension = dimension_of(countable);
  return blocker;
}

std::optional<Blocker> priority_blocker(const CoreState& state, TenantId at, const JobSpec& spec) {
  if (state.tenants.allows(at, spec.priority)) return std::nullopt;
  Blocker blocker;
  blocker.reason = ReasonCode::kQuotaPriority;
  blocker.tenant = at;
  blocker.dimension = Dimension::kPriorities;
  blocker.asked = static_cast<std::int64_t>(spec.priority);
  blocker.limit = state.tenants.spec(at).quota.priorities.bits;
  return blocker;
}

std::optional<Blocker> memory_blocker(const CoreState& state, TenantId at, const JobSpec& spec) {
  const Bytes limit = state.tenants.memory_per_npu(at);
  if (spec.request.memory_per_npu <= limit) return std::nullopt;
  Blocker blocker;
  blocker.reason = ReasonCode::kQuotaMemoryPerNpu;
  blocker.tenant = at;
  blocker.dimension = Dimension::kMemoryPerNpu;
  blocker.asked = spec.request.memory_per_npu.count;
  blocker.limit = limit.count;
  return blocker;
}

std::optional<Blocker> run_time_blocker(const CoreState& state, TenantId at, const JobSpec& spec) {
  const std::int64_t limit_ms = state.tenants.spec(at).quota.run_time_ms;
  if (spec.time_limit_ms <= limit_ms) return std::nullopt;
  Blocker blocker;
  blocker.reason = ReasonCode::kQuotaRunTime;
  blocker.tenant = at;
  blocker.dimension = Dimension::kRunTime;
  blocker.asked = spec.time_limit_ms;
  blocker.limit = limit_ms;
  return blocker;
}

bool Candidates::contains(const Fleet::Npu& npu) const {
  if (npu.kind == kNoKind) return false;
  if (!need_.is_slice()) return npu.kind >= need_.first_kind;
  return std::any_of(offers_.begin(), offers_.end(), [&npu](const SliceOffer& offer) {
    return offer.kind == npu.kind && (offer.is_whole() || offer.chip == npu.chip);
  });
}

bool Candidates::has_kind(std::uint32_t kind) const {
  if (!need_.is_slice()) return kind >= need_.first_kind;
  return std::any_of(offers_.begin(), offers_.end(),
                     [kind](const SliceOffer& offer) { return offer.kind == kind; });
}

Blocker capacity_blocker(const CoreState& state, ReasonCode reason, const Need& need) {
  const Fleet& fleet = state.fleet;
  const Candidates candidates(fleet, need);
  Blocker blocker;
  blocker.reason = reason;
  blocker.asked = need.npus;
  for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
    const Fleet::Npu& npu = fleet.npu(NpuIndex(i));
    if (!candidates.contains(npu)) continue;
    const bool is_healthy = npu.report.health == Health::kOk;
    ++blocker.limit;
    if (npu.is_held()) ++blocker.used;
    if (is_healthy && npu.is_idle()) ++blocker.free;
    if (!npu.job.valid() && !npu.is_idle()) ++blocker.cut;
    if (!is_healthy) ++blocker.unhealthy;
    if (!is_healthy && blocker.unhealthy_npus.size() < kListedMax) blocker.unhealthy_npus.emplace_back(i);
    for (const StraySlice& stray : npu.report.strays) {
      if (stray.residual && blocker.residual.size() < kListedMax)
        blocker.residual.push_back({NpuIndex(i), stray});
    }
  }
  return blocker;
}

void tell_grant(const CoreState& state, const JobSpec& spec, const Need& need, Blocker& blocker) {
  const Fleet& fleet = state.fleet;
  // The other limits are of what is asked for, or of jobs, whatever they come to.
  const Countable counted = countable_of(blocker.reason).value_or(Countable::kRunningJobs);
  const bool is_of_size =
      counted == Countable::kNpus || counted == Countable::kMemoryTotal || counted == Countable::kAiCores;
  const bool is_of_quota = blocker.tenant.valid();
  if (is_of_quota && !is_of_size) return;
  // The charge that the blocker speaks of, if it is of a quota.
  const auto is_meant = [&](const Amounts& charge) {
    return !is_of_quota || charge[index_of(counted)] == blocker.asked;
  };
  if (need.is_slice()) {
    for (const SliceOffer& offer : fleet.offers(ask_of(need))) {
      if (!is_meant(charge_on(state, offer, spec.bandwidth_bps))) continue;
      blocker.granted = Granted{{}, offer.grant.memory, offer.grant.ai_cores};
      if (offer.is_whole()) return;
      const SliceSize& size = fleet.rules().order(offer.chip).sizes()[offer.grant.size];
      blocker.granted->template_name = fleet.rules().model(offer.chip).templates[size.variants.front()].name;
      return;
    }
    return;
  }
  if (!is_of_quota || counted != Countable::kMemoryTotal) return;
  for (std::uint32_t kind = need.first_kind; kind < fleet.kind_count(); ++kind) {
    if (fleet.kind(kind).present_on_node_max < spec.request.npus) continue;
    if (!is_meant(charge_on(fleet, kind, spec.request, spec.bandwidth_bps))) continue;
    const Bytes asked = spec.request.memory_per_npu;
    if (asked.count > 0 && asked < fleet.kind(kind).memory)
      blocker.granted = Granted{{}, fleet.kind(kind).memory, fleet.kind(kind).ai_cores};
    return;
  }
}

std::optional<Blocker> Scheduler::blocker(const JobSpec& spec, ReasonCode reason) const {
  return Finder(*state_, spec, reason).find();
}

}  // namespace tangram

// decide(): starts in rank order, then the reasons that changed, then refusals.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/invariant.h"
#include "scheduler/judge.h"
#include "scheduler/state.h"
#include "scheduler/steps.h"

namespace tangram {
namespace {

// The reasons a group in the bucket of its demand class may keep. One bit each.
using ReasonSet = std::uint32_t;
constexpr ReasonSet bit(ReasonCode reason) {
  return ReasonSet{1} << static_cast<unsigned>(reason);
}

// `Made` is what it makes: Decision, where who is admitted gets a place in the same step, or Admission.
template <class Made>
class DecidePass {
 public:
  DecidePass(CoreState& state, TimeMs now, std::size_t limit)
      : state_(state), judge_(state, now), now_(now), limit_(limit), blocked_(state.queue.group_slots(), 0) {}

  std::vector<Made> run() {
    start_in_rank_order();
    if (!is_full()) update_reasons();
    if (!is_full()) refuse_no_wait();
    undo_all();
    return std::move(decisions_);
  }

  // Serves whoever ranks before `job` and says what then becomes of it.
  Verdict run_until(Handle job) {
    const JobRecord& record = state_.queue.job(job);
    const Rank rank = state_.rank(record, now_);
    start_in_rank_order(rank);
    const Verdict verdict = judge_.judge(record.group, rank);
    undo_all();
    return verdict;
  }

 private:
  static constexpr bool kPlaces = std::is_same_v<Made, Decision>;

  struct Undo {
    Handle job = kNoHandle;  // a start; kNoHandle: a parking
    Handle group = kNoHandle;
    NpuIndex first_npu;
    Amounts charge{};
    ReasonCode reason = ReasonCode::kNone;
    Parking parking;
  };
  struct Candidate {
    Rank rank = 0;
    Handle job = kNoHandle;
    Handle group = kNoHandle;
  };

  bool is_full() const { return decisions_.size() >= limit_; }

  void start_in_rank_order(Rank before = std::numeric_limits<Rank>::max()) {
    std::optional<Rank> last;
    while (!is_full() && is_work_left()) {
      const std::optional<Candidate> next = next_candidate(last);
      if (!next || next->rank >= before) break;
      TG_ASSERT(!last || next->rank > *last, "candidates come in rank order");
      last = next->rank;
      if (!consider(*next)) continue;
      // The start may have taken quota from one who had no room before it: who waits for quota now, and may
      // keep some. Begin again, so that a batch means the same as its decisions one by one.
      if (!is_room_missed_) continue;
      is_room_missed_ = false;
      judge_.forget_kept();
      std::fill(blocked_.begin(), blocked_.end(), std::uint8_t{0});
      last.reset();
    }
  }

  // Whether anybody might start, or it is not yet known for whom those are kept who say so.
  bool is_work_left() const {
    const auto kept = static_cast<std::size_t>(ReasonCode::kNpusKept);
    for (const DemandClass& demand : state_.queue.demand_classes()) {
      if (demand.jobs == 0) continue;
      if (has_room(demand)) return true;
      if (demand.reasons[kept] > 0 && !judge_.is_kept(demand.need)) return true;
    }
    return false;
  }

  // Where somebody else chooses the node, room is no question.
  bool has_room(const DemandClass& demand) const {
    if constexpr (kPlaces) {
      return judge_.fits_unkept(demand.need);
    } else {
      return true;
    }
  }

  std::optional<Candidate> next_candidate(std::optional<Rank> last) const {
    std::optional<Candidate> best;
    if (!last || *last < kNotOverdue) {
      for (const DemandClass& demand : state_.queue.demand_classes())
        first_overdue(demand.bucket, last, {}, best);
      each_open_bucket(
          [&](const Bucket& bucket, const Gate& gate) { first_overdue(bucket, last, gate, best); });
      if (best) return best;
    }
    for (const DemandClass& demand : state_.queue.demand_classes()) {
      if (!demand.bucket.entries.empty() && has_room(demand)) first_other(demand.bucket, last, {}, best);
    }
    each_open_bucket([&](const Bucket& bucket, const Gate& gate) { first_other(bucket, last, gate, best); });
    return best;
  }

  // Which entries of a bucket may leave it.
  struct Gate {
    std::int64_t headroom = std::numeric_limits<std::int64_t>::max();
    Rank before = std::numeric_limits<Rank>::max();

    bool lets(const Entry& entry, Rank rank) const { return entry.demand <= headroom && rank < before; }
  };

  template <class Visit>
  void each_open_bucket(const Visit& visit) const {
    const std::vector<std::uint8_t>& parked = state_.queue.parked_slots();
    const auto count = static_cast<std::uint32_t>(parked.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint8_t slots = parked[i];
      if (slots == 0) continue;
      const TenantId tenant(i);
      for (const Countable countable : kCountables) {
        if ((slots >> index_of(countable) & 1) == 0) continue;
        const Bucket& bucket = state_.queue.bucket(tenant, static_cast<Slot>(countable));
        const std::int64_t headroom = state_.tenants.headroom(tenant, countable);
        if (bucket.demand_min <= headroom) visit(bucket, Gate{headroom, std::numeric_limits<Rank>::max()});
      }
      if ((slots >> static_cast<unsigned>(Slot::kKept) & 1) == 0) continue;
      const std::optional<QuotaKeeper> keeper = judge_.quota_keeper(tenant);
      Gate gate;
      if (keeper) gate.before = keeper->rank;
      visit(state_.queue.bucket(tenant, Slot::kKept), gate);
    }
  }

  static std::vector<Entry>::const_iterator entry_from(const Bucket& bucket, std::uint64_t key) {
    return std::lower_bound(bucket.entries.begin(), bucket.entries.end(), key,
                            [](const Entry& entry, std::uint64_t wanted) { return entry.key < wanted; });
  }

  static void take_if_better(const Entry& entry, Rank rank, std::optional<Candidate>& best) {
    if (!best || rank < best->rank) best = Candidate{rank, entry.job, entry.group};
  }

  // The first entry past the bound that ranks after `last`. Within a class those are at the front: only
  // requeued jobs waited less than their place says.
  void first_overdue(const Bucket& bucket, std::optional<Rank> last, Gate gate,
                     std::optional<Candidate>& best) const {
    if (bucket.entries.empty()) return;
    const Rank from = last ? *last + 1 : 0;
    for (int priority = 0; priority < kPriorityCount; ++priority) {
      const Rank end = end_of_class(static_cast<Priority>(priority));
      if (from >= end) continue;
      const Rank begin = std::max(from, rank_key(static_cast<Priority>(priority), JobId(0)));
      for (auto at = entry_from(bucket, begin); at != bucket.entries.end() && at->key < end; ++at) {
        if (!state_.is_overdue(at->queued_at, now_)) {
          if (at->requeued) continue;
          break;
        }
        if (best && best->rank < at->key) return;
        if (!gate.lets(*at, at->key)) continue;
        take_if_better(*at, at->key, best);
        return;
      }
    }
  }

  // The first entry not past the bound that ranks after `last`.
  void first_other(const Bucket& bucket, std::optional<Rank> last, Gate gate,
                   std::optional<Candidate>& best) const {
    const Rank from = last && *last >= kNotOverdue ? *last + 1 - kNotOverdue : 0;
    for (auto at = entry_from(bucket, from); at != bucket.entries.end(); ++at) {
      const Rank rank = at->key | kNotOverdue;
      if (best && best->rank < rank) return;
      if (state_.is_overdue(at->queued_at, now_) || !gate.lets(*at, rank)) continue;
      take_if_better(*at, rank, best);
      return;
    }
  }

  // Whether it started.
  bool consider(const Candidate& candidate) {
    if (blocked_[candidate.group] != 0) return false;
    const Verdict verdict = judge_.judge(candidate.group, candidate.rank);
    switch (verdict.outcome) {
      case Verdict::Outcome::kStart:
        if constexpr (kPlaces) {
          start(candidate, verdict);
        } else {
          admit(candidate);
        }
        return true;
      case Verdict::Outcome::kNever:
      case Verdict::Outcome::kQuota:
      case Verdict::Outcome::kQuotaKept:
        set_reason(candidate.group, verdict);
        break;
      case Verdict::Outcome::kCapacity:
        is_room_missed_ = true;
        keep_if_overdue(candidate, verdict);
        break;
    }
    blocked_[candidate.group] = 1;
    return false;
  }

  void keep_if_overdue(const Candidate& candidate, const Verdict& verdict) {
    if (candidate.rank >= kNotOverdue) return;
    const Group& group = state_.queue.group(candidate.group);
    const bool was_kept = judge_.is_kept(group.need);
    if (judge_.impossible(group.need) == ReasonCode::kNone) {
      judge_.keep_npus(candidate.group, state_.queue.job(candidate.job).spec.id);
    }
    // It is now the one for whom NPUs are kept.
    if (group.reason == ReasonCode::kNpusKept && !was_kept) set_reason(candidate.group, verdict);
  }

  void start(const Candidate& candidate, const Verdict& verdict) {
    const JobRecord& job = state_.queue.job(candidate.job);
    JobStarted started{job.spec.id, job.attempt + 1, {}};
    if (verdict.slice_place) {
      started.npus = {verdict.slice_place->npu};
      started.slice = verdict.slice_place->slice;
    } else {
      started.npus = state_.fleet.pick(verdict.place, job.spec.request.npus);
    }
    Undo undo;
    undo.job = candidate.job;
    undo.group = candidate.group;
    undo.first_npu = started.npus.front();
    undo.charge = charge_of(state_, job.spec, undo.first_npu, started.slice);
    TG_ASSERT(!state_.tenants.first_block(job.spec.tenant, undo.charge), "a start is within every quota");
    state_.queue.dequeue(candidate.job);
    state_.tenants.charge(job.spec.tenant, undo.charge);
    take(state_.fleet, job.spec.id, started.npus, started.slice, true);
    undos_.push_back(undo);
    decisions_.emplace_back(std::move(started));
  }

  void admit(const Candidate& candidate) {
    const JobRecord& job = state_.queue.job(candidate.job);
    Undo undo;
    undo.job = candidate.job;
    undo.group = candidate.group;
    undo.charge = admission_charge(state_, job.spec);
    TG_ASSERT(!state_.tenants.first_block(job.spec.tenant, undo.charge),
              "an admission is within every quota");
    state_.queue.dequeue(candidate.job);
    state_.tenants.charge(job.spec.tenant, undo.charge);
    undos_.push_back(undo);
    decisions_.emplace_back(JobAdmitted{job.spec.id, job.attempt + 1, to_usage(undo.charge)});
  }

  void set_reason(Handle handle, const Verdict& verdict) {
    const Group& group = state_.queue.group(handle);
    if (group.reason == verdict.reason && group.parking == verdict.parking) return;
    if (group.no_wait_jobs == group.jobs) return;  // they are refused, not made to wait
    const Handle best = state_.queue.best_job(handle, now_, state_.settings.keep_after_ms);
    Undo undo;
    undo.group = handle;
    undo.reason = group.reason;
    undo.parking = group.parking;
    undos_.push_back(undo);
    decisions_.emplace_back(JobWaits{state_.queue.job(best).spec.id, verdict.reason});
    state_.queue.park(handle, verdict.reason, verdict.parking);
  }

  // Reasons that still hold for whoever is left in the bucket of a demand class. kNone is never among them.
  ReasonSet holding_reasons(const DemandClass& demand) const {
    const Need& need = demand.need;
    const ReasonCode impossible = judge_.impossible(need);
    if (impossible != ReasonCode::kNone) return bit(impossible);
    const Fleet& fleet = state_.fleet;
    if (!judge_.exists_healthy(need)) return bit(ReasonCode::kNpusUnhealthy);
    // Who cannot afford what is free besides waits for what is kept, too: others are looked at again.
    const bool is_some_kept = judge_.is_kept(need) || !judge_.fits_unkept(need);
    if (is_some_kept && judge_.fits(need, {})) return bit(ReasonCode::kNpusKept);
    ReasonSet reasons = 0;
    if (need.is_slice()) {
      reasons = bit(judge_.busy_reason(need));
    } else {
      reasons = bit(reason_of(fleet.shortage(need.npus, need.first_kind, {})));
      if (fleet.has_unhealthy(need.npus, need.first_kind)) reasons |= bit(ReasonCode::kNpusUnhealthy);
    }
    if (judge_.is_kept(need)) reasons |= bit(ReasonCode::kNpusKept);
    return reasons;
  }

  void collect_doubtful(std::vector<std::pair<Rank, Handle>>& doubtful) const {
    for (const DemandClass& demand : state_.queue.demand_classes()) {
      if (demand.bucket.entries.empty()) continue;
      const ReasonSet holding = holding_reasons(demand);
      std::size_t held = 0;
      for (std::size_t reason = 0; reason < demand.reasons.size(); ++reason) {
        if ((holding >> reason & 1) != 0) held += static_cast<std::size_t>(demand.reasons[reason]);
      }
      if (held == demand.bucket.entries.size()) continue;
      for (const Entry& entry : demand.bucket.entries) {
        const bool holds = (holding & bit(state_.queue.group(entry.group).reason)) != 0;
        if (!holds) doubtful.emplace_back(state_.rank(entry, now_), entry.group);
      }
    }
    each_open_bucket([&](const Bucket& bucket, const Gate& gate) {
      for (const Entry& entry : bucket.entries) {
        const Rank rank = state_.rank(entry, now_);
        if (gate.lets(entry, rank)) doubtful.emplace_back(rank, entry.group);
      }
    });
    std::sort(doubtful.begin(), doubtful.end());
  }

  // A reason given before may have made a keeper of one who ranks before this one.
  bool is_still_kept(Handle handle, Rank rank) const {
    const Parking& parking = state_.queue.group(handle).parking;
    if (parking.slot != Slot::kKept) return false;
    const std::optional<QuotaKeeper> keeper = judge_.quota_keeper(parking.tenant);
    return keeper && keeper->rank < rank;
  }

  void update_reasons() {
    std::vector<std::pair<Rank, Handle>> doubtful;
    collect_doubtful(doubtful);
    std::vector<std::uint8_t> seen(state_.queue.group_slots(), 0);
    for (const auto& [rank, group] : doubtful) {
      if (is_full()) return;
      if (std::exchange(seen[group], std::uint8_t{1}) != 0) continue;  // its best job came first
      if (is_still_kept(group, rank)) continue;
      const Verdict verdict = judge_.judge(group, rank);
      TG_ASSERT(verdict.outcome != Verdict::Outcome::kStart, "whoever can start has been started");
      set_reason(group, verdict);
    }
  }

  void refuse_no_wait() {
    if (state_.queue.no_wait_jobs().empty()) return;
    // One at a time: with a bound of zero, something may be kept for the one that goes.
    const JobRecord& record = state_.queue.job(state_.queue.no_wait_jobs().front());
    const Verdict verdict = judge_.judge(record.group, state_.rank(record, now_));
    TG_ASSERT(verdict.outcome != Verdict::Outcome::kStart, "whoever can start has been started");
    decisions_.emplace_back(JobRefused{record.spec.id, verdict.reason});
  }

  void undo_all() {
    for (; !undos_.empty(); undos_.pop_back()) {
      const Undo& undo = undos_.back();
      if (undo.job == kNoHandle) {
        state_.queue.park(undo.group, undo.reason, undo.parking);
        continue;
      }
      const JobSpec& spec = state_.queue.job(undo.job).spec;
      if constexpr (kPlaces) state_.fleet.release(spec.id, undo.first_npu);
      state_.tenants.refund(spec.tenant, undo.charge);
      state_.queue.undo_dequeue(undo.job, undo.group);
    }
  }

  CoreState& state_;
  Judge judge_;
  TimeMs now_;
  std::size_t limit_;
  std::vector<std::uint8_t> blocked_;  // by group: judged and not startable in this pass
  bool is_room_missed_ = false;        // by one of those, within its quota
  std::vector<Made> decisions_;
  std::vector<Undo> undos_;
};

}  // namespace

std::vector<Decision> decide_on(CoreState& state, TimeMs now, std::size_t limit) {
  TG_ASSERT(limit > 0, "at least one decision is wanted");
  return DecidePass<Decision>(state, std::max(now, state.clock), limit).run();
}

std::vector<Admission> admit_on(CoreState& state, TimeMs now, std::size_t limit) {
  TG_ASSERT(limit > 0, "at least one decision is wanted");
  return DecidePass<Admission>(state, std::max(now, state.clock), limit).run();
}

Verdict judge_in_turn(CoreState& state, TimeMs now, Handle job) {
  TG_ASSERT(state.queue.job(job).is_queued(), "only a queued job has its turn to come");
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  now = std::max(now, state.clock);
  if (state.settings.places_elsewhere) return DecidePass<Admission>(state, now, kAll).run_until(job);
  return DecidePass<Decision>(state, now, kAll).run_until(job);
}

std::vector<Decision> Scheduler::decide(TimeMs now, std::size_t limit) const {
  state_->decided_at = std::max(state_->decided_at, now);
  if (state_->settings.places_elsewhere) return {};
  return decide_on(*state_, now, limit);
}

}  // namespace tangram

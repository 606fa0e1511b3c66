// Why a job waits: everything in its way with numbers, and what would let it start, each tried before it is
// said.
#include <algorithm>
#include <array>
#include <utility>

#include "base/invariant.h"
#include "scheduler/blockers.h"
#include "scheduler/ends.h"
#include "scheduler/judge.h"
#include "scheduler/place.h"
#include "scheduler/replay.h"
#include "scheduler/state.h"
#include "scheduler/steps.h"

namespace tangram {
namespace {

constexpr std::size_t kHoldersMax = 16;
constexpr std::size_t kRemediesMax = 5;
constexpr std::size_t kSinglesMax = 8;

class Explainer {
 public:
  Explainer(CoreState& state, TimeMs now, Handle job)
      : state_(state),
        now_(now),
        handle_(job),
        job_(state.queue.job(job)),
        group_(state.queue.group(job_.group)),
        candidates_(state.fleet, group_.need),
        active_(active_by_end(state)),
        replay_(state, now, job) {}

  Explanation run() {
    Explanation explanation;
    find_position(explanation);
    const Verdict verdict = judge_in_turn(state_, now_, handle_);
    if (verdict.outcome == Verdict::Outcome::kStart) return explanation;  // the next decide() starts it
    explanation.state = JobState::kWaiting;
    add_quota_blockers(verdict);
    add_capacity_blocker(verdict);
    rank_blockers(verdict);
    for (Blocker& blocker : blockers_) tell_grant(state_, job_.spec, group_.need, blocker);
    find_remedies(explanation);
    explanation.blockers = std::move(blockers_);
    TG_ASSERT(!explanation.blockers.empty(), "a job that waits has a reason");
    return explanation;
  }

 private:
  void find_position(Explanation& explanation) const {
    const Rank own = state_.rank(job_, now_);
    explanation.position = 1;
    explanation.queue_length = static_cast<std::int64_t>(state_.queue.queued_count());
    for (Handle handle = 0; handle < state_.queue.job_slots(); ++handle) {
      const JobRecord& other = state_.queue.job(handle);
      if (other.group != kNoHandle && state_.rank(other, now_) < own) ++explanation.position;
    }
  }

  void add_quota_blockers(const Verdict& verdict) {
    for (TenantId at = job_.spec.tenant; at.valid(); at = state_.tenants.parent(at)) {
      add_static_blockers(at);
      for (const Countable countable : kCountables) add_limit_blocker(at, countable, group_.demand);
    }
    if (verdict.outcome == Verdict::Outcome::kQuotaKept) add_kept_blocker(verdict);
    if (verdict.outcome != Verdict::Outcome::kQuota || !blockers_.empty()) return;
    // No limit is too small for every kind, but each kind is too much for some limit.
    each_charge(state_, job_.spec, group_.need, [this](const Amounts& charge) {
      const std::optional<QuotaBlock> block = state_.tenants.first_block(job_.spec.tenant, charge);
      TG_ASSERT(block.has_value(), "each kind is blocked");
      add_limit_blocker(block->tenant, block->countable, charge);
    });
  }

  void add_static_blockers(TenantId at) {
    if (const auto blocker = priority_blocker(state_, at, job_.spec)) blockers_.push_back(*blocker);
    if (const auto blocker = memory_blocker(state_, at, job_.spec)) blockers_.push_back(*blocker);
  }

  void add_limit_blocker(TenantId at, Countable countable, const Amounts& charge) {
    std::optional<Blocker> blocker = limit_blocker(state_, at, countable, charge);
    if (!blocker) return;
    for (const Handle other : active_) {
      const JobRecord& holder = state_.queue.job(other);
      if (blocker->holders.size() == kHoldersMax) break;
      if (holder.charge[index_of(countable)] > 0 && state_.tenants.is_below(holder.spec.tenant, at)) {
        blocker->holders.push_back(holder.spec.id);
      }
    }
    blockers_.push_back(std::move(*blocker));
  }

  void add_kept_blocker(const Verdict& verdict) {
    const Handle keeper = state_.queue.known_job(verdict.kept_for);
    const Group& waiting = state_.queue.group(state_.queue.job(keeper).group);
    Blocker blocker;
    blocker.reason = ReasonCode::kQuotaKept;
    blocker.tenant = verdict.parking.tenant;
    blocker.kept_for = verdict.kept_for;
    if (static_cast<std::size_t>(waiting.parking.slot) < kCountableCount) {
      const auto countable = static_cast<Countable>(waiting.parking.slot);
      blocker.dimension = dimension_of(countable);
      blocker.asked = group_.demand[index_of(countable)];
      blocker.used = state_.tenants.used(blocker.tenant)[index_of(countable)];
      blocker.limit = state_.tenants.limit(blocker.tenant)[index_of(countable)];
    }
    blockers_.push_back(std::move(blocker));
  }

  void add_capacity_blocker(const Verdict& verdict) {
    if (state_.settings.places_elsewhere) return;  // who waits there waits for its quota
    const Judge judge(state_, now_);
    ReasonCode reason = judge.impossible(group_.need);
    JobId kept_for;
    if (verdict.outcome == Verdict::Outcome::kCapacity) {
      reason = verdict.reason;
      kept_for = verdict.kept_for;
    } else if (reason == ReasonCode::kNone) {
      if (judge.fits(group_.need, {})) return;
      reason = judge.busy_reason(group_.need);
    }
    Blocker blocker = capacity_blocker(state_, reason, group_.need);
    blocker.kept_for = kept_for;
    for (const Handle other : active_) {
      const JobRecord& holder = state_.queue.job(other);
      if (!candidates_.contains(state_.fleet.npu(holder.first_npu))) continue;
      if (blocker.holders.size() == kHoldersMax) break;
      blocker.holders.push_back(holder.spec.id);
    }
    blockers_.push_back(std::move(blocker));
  }

  // First what the queue shows, if it still stands in the way, else what the next judgement would say.
  void rank_blockers(const Verdict& verdict) {
    const auto shows = [this](ReasonCode reason) {
      return std::any_of(blockers_.begin(), blockers_.end(),
                         [reason](const Blocker& b) { return b.reason == reason; });
    };
    const ReasonCode decisive = shows(group_.reason) ? group_.reason : verdict.reason;
    std::stable_partition(blockers_.begin(), blockers_.end(),
                          [decisive](const Blocker& blocker) { return blocker.reason == decisive; });
  }

  void find_remedies(Explanation& explanation) {
    std::vector<Remedy>& remedies = explanation.remedies;
    try_returns(remedies);
    try_ends(remedies);
    try_fewer_npus(remedies);
    try_less_memory(remedies);
    try_limits(remedies);
    // Asked last: it uses the copy up.
    explanation.estimated_start = replay_.start_by_time_limits();
    if (explanation.estimated_start) {
      Remedy wait;
      wait.kind = Remedy::Kind::kWaitForLimit;
      wait.at = *explanation.estimated_start;
      wait.starts = true;
      remedies.insert(remedies.begin(), std::move(wait));
    }
    if (remedies.size() > kRemediesMax) remedies.resize(kRemediesMax);
  }

  // The fewest jobs, of equally few the cheapest (EndChooser); where one look is not enough to know them,
  // those that hold what is missing, one more at a time.
  void try_ends(std::vector<Remedy>& remedies) {
    const EndChooser chooser(state_, now_, group_.need, candidates_, active_);
    for (std::vector<JobId>& jobs : chooser.sets(blockers_.front(), kSinglesMax)) {
      if (add_if_ended(remedies, std::move(jobs))) return;
    }
    const std::vector<JobId> holders = blockers_.front().holders;
    for (std::size_t count = 1; count <= holders.size(); ++count) {
      const auto end = holders.begin() + static_cast<std::ptrdiff_t>(count);
      if (add_if_ended(remedies, {holders.begin(), end})) return;
    }
  }

  bool add_if_ended(std::vector<Remedy>& remedies, std::vector<JobId> jobs) {
    if (!replay_.starts_if_ended(jobs)) return false;
    Remedy remedy;
    remedy.kind = Remedy::Kind::kJobsEnd;
    remedy.jobs = std::move(jobs);
    remedy.starts = true;
    remedies.push_back(std::move(remedy));
    return true;
  }

  // Only what nobody uses: the rest is somebody's.
  void try_returns(std::vector<Remedy>& remedies) {
    const std::vector<ResidualSlice>& residual = blockers_.front().residual;
    if (blockers_.front().reason != ReasonCode::kSlicesResidual || !replay_.starts_if_returned()) return;
    Remedy remedy;
    remedy.kind = Remedy::Kind::kSlicesReturned;
    remedy.slices = residual;
    remedy.starts = true;
    remedies.push_back(std::move(remedy));
  }

  void try_fewer_npus(std::vector<Remedy>& remedies) {
    Request request = job_.spec.request;
    for (std::int32_t tried = 0; tried < 8 && request.npus > 1; ++tried) {
      // Large requests come down in halves first: the exact number matters less than the number of questions.
      request.npus = request.npus > 16 ? request.npus / 2 : request.npus - 1;
      if (!replay_.starts_with(request)) continue;
      Remedy remedy;
      remedy.kind = Remedy::Kind::kFewerNpus;
      remedy.npus = request.npus;
      remedy.starts = true;
      remedies.push_back(std::move(remedy));
      return;
    }
  }

  void try_less_memory(std::vector<Remedy>& remedies) {
    Request request = job_.spec.request;
    for (const Bytes smaller : smaller_memories()) {
      request.memory_per_npu = smaller;
      if (!replay_.starts_with(request)) continue;
      Remedy remedy;
      remedy.kind = Remedy::Kind::kLessMemory;
      remedy.memory_per_npu = request.memory_per_npu;
      remedy.starts = true;
      remedies.push_back(std::move(remedy));
      return;
    }
  }

  // The next smaller sizes that there are, the largest first.
  std::vector<Bytes> smaller_memories() const {
    const Fleet& fleet = state_.fleet;
    constexpr std::size_t kTriedMax = 4;
    std::vector<Bytes> sizes;
    if (group_.need.is_slice()) {
      sizes = fleet.slice_memories();
      std::erase_if(sizes, [this](Bytes size) { return size >= group_.need.memory; });
      std::reverse(sizes.begin(), sizes.end());
    } else {
      for (std::uint32_t kind = group_.need.first_kind; kind > 0; --kind) {
        sizes.push_back(fleet.kind(kind - 1).memory);
      }
    }
    if (sizes.size() > kTriedMax) sizes.resize(kTriedMax);
    return sizes;
  }

  void try_limits(std::vector<Remedy>& remedies) {
    for (const Blocker& blocker : blockers_) {
      const bool is_number = blocker.tenant.valid() && blocker.dimension != Dimension::kPriorities;
      if (!is_number || blocker.reason == ReasonCode::kQuotaKept) continue;
      const std::int64_t limit = blocker.used + blocker.asked;
      if (!replay_.starts_with_limit(blocker.tenant, blocker.dimension, limit)) continue;
      Remedy remedy;
      remedy.kind = Remedy::Kind::kRaiseQuota;
      remedy.tenant = blocker.tenant;
      remedy.dimension = blocker.dimension;
      remedy.limit = limit;
      remedy.starts = true;
      remedies.push_back(std::move(remedy));
    }
  }

  CoreState& state_;
  TimeMs now_;
  Handle handle_;
  const JobRecord& job_;
  const Group& group_;
  const Candidates candidates_;
  std::vector<Handle> active_;
  Replay replay_;
  std::vector<Blocker> blockers_;
};

}  // namespace

Result<Explanation> Scheduler::explain(JobId id, TimeMs now) const {
  const std::optional<Handle> job = state_->queue.find_job(id);
  if (!job) {
    return fail(Code::kNotFound, "job.unknown",
                "job j-" + std::to_string(id.value) + " is not queued or running",
                "see which are (tangram queue --all)");
  }
  if (state_->queue.job(*job).is_unplaced()) return explain_unplaced(*state_, state_->queue.job(*job));
  if (!state_->queue.job(*job).is_queued()) {
    Explanation running;
    running.state = state_->queue.job(*job).state;
    running.queue_length = static_cast<std::int64_t>(state_->queue.queued_count());
    return running;
  }
  return Explainer(*state_, std::max(now, state_->clock), *job).run();
}

}  // namespace tangram

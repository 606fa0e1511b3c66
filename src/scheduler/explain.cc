// Why a job waits: everything in its way with numbers, and what would let it start, each tried before it is
// said.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/invariant.h"
#include "scheduler/blockers.h"
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

  void try_ends(std::vector<Remedy>& remedies) {
    const std::vector<JobId> candidates = blockers_.front().holders;
    for (std::size_t i = 0; i < std::min(candidates.size(), kSinglesMax); ++i) {
      if (add_if_ended(remedies, {candidates[i]})) return;
    }
    if (const std::vector<JobId> together =
            group_.need.is_slice() ? fewest_on_one_npu() : fewest_on_one_node();
        together.size() > 1 && add_if_ended(remedies, together)) {
      return;
    }
    for (std::size_t count = 2; count <= candidates.size(); ++count) {
      const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
      if (add_if_ended(remedies, {candidates.begin(), end})) return;
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

  // The fewest jobs whose end frees enough NPUs on one node.
  std::vector<JobId> fewest_on_one_node() const {
    const Fleet& fleet = state_.fleet;
    std::vector<JobId> best;
    for (std::uint32_t node = 0; node < fleet.node_count(); ++node) {
      const std::vector<JobId> jobs = fewest_on(NodeIndex(node));
      if (!jobs.empty() && (best.empty() || jobs.size() < best.size())) best = jobs;
    }
    return best;
  }

  // Jobs whose end frees NPUs together: one that has whole ones, or all those with slices of one NPU.
  struct Holding {
    std::vector<JobId> jobs;
    std::int64_t npus = 0;
    TimeMs end;  // of the last
  };

  std::vector<JobId> fewest_on(NodeIndex node) const {
    const Fleet& fleet = state_.fleet;
    const std::int64_t wanted = job_.spec.request.npus;
    std::int64_t free = 0;
    std::vector<Holding> holdings;
    for (const NpuIndex index : fleet.npus_of(node)) {
      const Fleet::Npu& npu = fleet.npu(index);
      if (!candidates_.contains(npu)) continue;
      if (npu.is_idle() && npu.report.health == Health::kOk) ++free;
      Holding holding;
      if (npu.job.valid()) {
        const JobRecord& job = state_.queue.job(state_.queue.known_job(npu.job));
        if (job.first_npu != index) continue;  // counted with its first
        holding = {{npu.job}, static_cast<std::int64_t>(fleet.held_from(index).size()), latest_end(job)};
      } else if (npu.report.strays.empty()) {
        for (const Fleet::Slice& slice : npu.slices) {
          holding.jobs.push_back(slice.job);
          const JobRecord& job = state_.queue.job(state_.queue.known_job(slice.job));
          holding.end = std::max(holding.end, latest_end(job));
        }
        holding.npus = 1;
      }
      if (!holding.jobs.empty()) holdings.push_back(std::move(holding));
    }
    std::stable_sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) {
      const auto cost = [](const Holding& h) { return static_cast<std::int64_t>(h.jobs.size()); };
      return std::tuple(cost(a), -a.npus, a.end) < std::tuple(cost(b), -b.npus, b.end);
    });
    std::vector<JobId> jobs;
    for (const Holding& holding : holdings) {
      if (free >= wanted) break;
      free += holding.npus;
      jobs.insert(jobs.end(), holding.jobs.begin(), holding.jobs.end());
    }
    if (free < wanted) jobs.clear();
    return jobs;
  }

  // The fewest jobs with slices of one NPU whose end makes room for the slice that is asked for.
  std::vector<JobId> fewest_on_one_npu() const {
    const Fleet& fleet = state_.fleet;
    std::vector<JobId> best;
    for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
      const Fleet::Npu& npu = fleet.npu(NpuIndex(i));
      if (!candidates_.contains(npu)) continue;
      std::vector<std::tuple<std::int64_t, TimeMs, JobId>> order;
      for (const Fleet::Slice& slice : npu.slices) {
        const JobRecord& job = state_.queue.job(state_.queue.known_job(slice.job));
        order.emplace_back(-std::int64_t{slice.placement.ai_cores}, latest_end(job), slice.job);
      }
      std::sort(order.begin(), order.end());
      std::vector<JobId> jobs;
      for (const auto& [cores, end, job] : order) {
        jobs.push_back(job);
        if (!best.empty() && jobs.size() >= best.size()) break;
        if (!fleet.fits_without(NpuIndex(i), candidates_.offers(), jobs)) continue;
        drop_needless(NpuIndex(i), jobs);
        best = jobs;
        break;
      }
    }
    return best;
  }

  // Those that need not end after all.
  void drop_needless(NpuIndex npu, std::vector<JobId>& jobs) const {
    for (std::size_t i = 0; i < jobs.size();) {
      std::vector<JobId> fewer = jobs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (state_.fleet.fits_without(npu, candidates_.offers(), fewer)) {
        jobs = std::move(fewer);
      } else {
        ++i;
      }
    }
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

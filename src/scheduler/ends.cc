#include "scheduler/ends.h"

#include <algorithm>
#include <limits>

#include "scheduler/judge.h"

namespace tangram {
namespace {

constexpr std::int64_t kLooksMax = 16'384;  // at sets of slices, for one explanation
constexpr std::size_t kTogetherMax = 16;
constexpr int kExchangesMax = 64;

std::optional<Countable> countable_of(const Blocker& blocker) {
  if (!blocker.tenant.valid() || blocker.reason == ReasonCode::kQuotaKept) return std::nullopt;
  for (const Countable countable : kCountables) {
    if (dimension_of(countable) == blocker.dimension) return countable;
  }
  return std::nullopt;
}

// The next `size` of `count` places, ascending; false: those were the last.
bool advance(std::vector<std::size_t>& places, std::size_t count) {
  const std::size_t size = places.size();
  for (std::size_t i = size; i-- > 0;) {
    if (places[i] == count - size + i) continue;
    ++places[i];
    for (std::size_t j = i + 1; j < size; ++j) places[j] = places[j - 1] + 1;
    return true;
  }
  return false;
}

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Of amounts that are not negative.
std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  return a > kMost - b ? kMost : a + b;
}
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  return b != 0 && a > kMost / b ? kMost : a * b;
}

}  // namespace

EndCost& EndCost::operator+=(const EndCost& other) {
  jobs += other.jobs;
  high += other.high;
  normal += other.normal;
  work = saturating_sum(work, other.work);
  cores = saturating_sum(cores, other.cores);
  return *this;
}

EndChooser::EndChooser(const CoreState& state, TimeMs now, const Need& need, const Candidates& candidates,
                       const std::vector<Handle>& active)
    : state_(state), now_(now), need_(need), candidates_(candidates), active_(active) {}

std::vector<std::vector<JobId>> EndChooser::sets(const Blocker& blocker, std::size_t singles_max) const {
  const std::optional<Countable> countable = countable_of(blocker);
  if (countable) {
    const std::int64_t missing = blocker.used + blocker.asked - blocker.limit;
    const std::vector<Holder> holders = holders_below(blocker.tenant, *countable);
    const auto is_enough = [missing](const Holder& holder) { return holder.amount >= missing; };
    return with_singles(holders, is_enough, singles_max, fewest(holders, missing));
  }
  if (blocker.tenant.valid()) return {};
  const std::vector<Holder> holders = holders_of_candidates();
  if (need_.is_slice()) {
    const auto is_enough = [this](const Holder& holder) { return frees_slice(holder); };
    return with_singles(holders, is_enough, singles_max, fewest_on_one_npu());
  }
  const Parts parts = collect_parts();
  const auto is_enough = [&](const Holder& holder) {
    const Fleet::Npu& first = state_.fleet.npu(state_.queue.job(holder.handle).first_npu);
    const auto part = parts.find({first.node.value, first.kind});
    return part != parts.end() && part->second.free + holder.amount >= need_.npus;
  };
  std::optional<Choice> best;
  for (const auto& [where, part] : parts) {
    std::optional<Choice> choice = cheapest(part, need_.npus);
    if (choice && (!best || choice->cost < best->cost)) best = std::move(choice);
  }
  return with_singles(holders, is_enough, singles_max, best ? std::move(best->jobs) : std::vector<JobId>());
}

std::vector<std::vector<JobId>> EndChooser::with_singles(const std::vector<Holder>& holders,
                                                         const std::function<bool(const Holder&)>& is_enough,
                                                         std::size_t singles_max,
                                                         std::vector<JobId> together) {
  std::vector<std::vector<JobId>> sets;
  for (const Holder& holder : holders) {
    if (sets.size() == singles_max) break;
    if (is_enough(holder)) sets.push_back({holder.job});
  }
  std::sort(together.begin(), together.end());
  if (together.size() > 1) sets.push_back(std::move(together));
  return sets;
}

EndCost EndChooser::cost_of(const JobRecord& job) const {
  const std::int64_t cores =
      std::max(job.charge[index_of(Countable::kAiCores)], job.charge[index_of(Countable::kNpus)]);
  EndCost cost;
  cost.jobs = 1;
  cost.high = job.spec.priority == Priority::kHigh ? 1 : 0;
  cost.normal = job.spec.priority == Priority::kNormal ? 1 : 0;
  cost.work = saturating_product(cores, std::max<std::int64_t>(0, now_.value - job.started_at.value));
  cost.cores = cores;
  return cost;
}

// The cheapest first; of equal ones the first to end.
std::vector<EndChooser::Holder> EndChooser::holders_below(TenantId tenant, Countable countable) const {
  std::vector<Holder> holders;
  for (const Handle handle : active_) {
    const JobRecord& job = state_.queue.job(handle);
    const std::int64_t amount = job.charge[index_of(countable)];
    if (amount > 0 && state_.tenants.is_below(job.spec.tenant, tenant))
      holders.push_back({handle, job.spec.id, cost_of(job), amount});
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.cost < b.cost; });
  return holders;
}

std::vector<EndChooser::Holder> EndChooser::holders_of_candidates() const {
  std::vector<Holder> holders;
  for (const Handle handle : active_) {
    const JobRecord& job = state_.queue.job(handle);
    const Fleet::Npu& first = state_.fleet.npu(job.first_npu);
    if (!candidates_.contains(first)) continue;
    Holder holder{handle, job.spec.id, cost_of(job), 0};
    // A slice frees its NPU only if it is the last one there.
    const bool is_whole = first.job == job.spec.id;
    if (is_whole) {
      for (const NpuIndex npu : state_.fleet.held_from(job.first_npu))
        holder.amount += state_.fleet.npu(npu).report.health == Health::kOk ? 1 : 0;
    } else if (first.slices.size() == 1 && first.report.strays.empty()) {
      holder.amount = first.report.health == Health::kOk ? 1 : 0;
    }
    holders.push_back(holder);
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.cost < b.cost; });
  return holders;
}

// Of one quota: as many of the largest as are needed, then each exchanged for a cheaper one that will do.
std::vector<JobId> EndChooser::fewest(std::vector<Holder> holders, std::int64_t missing) {
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.amount > b.amount; });
  std::int64_t sum = 0;
  std::size_t count = 0;
  while (sum < missing && count < holders.size()) sum += holders[count++].amount;
  if (sum < missing || count > kTogetherMax) return {};
  for (int exchanges = 0; exchanges < kExchangesMax; ++exchanges) {
    std::optional<std::pair<std::size_t, std::size_t>> best;  // who stays, and who ends instead
    for (std::size_t in = 0; in < count; ++in) {
      for (std::size_t out = count; out < holders.size(); ++out) {
        const bool is_enough = sum - holders[in].amount + holders[out].amount >= missing;
        if (!is_enough || !(holders[out].cost < holders[in].cost)) continue;
        const bool is_better = !best || holders[best->first].cost < holders[in].cost ||
                               (best->first == in && holders[out].cost < holders[best->second].cost);
        if (is_better) best = {in, out};
      }
    }
    if (!best) break;
    sum += holders[best->second].amount - holders[best->first].amount;
    std::swap(holders[best->first], holders[best->second]);
  }
  std::vector<JobId> jobs;
  jobs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) jobs.push_back(holders[i].job);
  return jobs;
}

bool EndChooser::frees_slice(const Holder& holder) const {
  const std::vector<JobId> ended{holder.job};
  const std::vector<NpuIndex> npus = state_.fleet.held_from(state_.queue.job(holder.handle).first_npu);
  return std::any_of(npus.begin(), npus.end(), [&](NpuIndex npu) {
    return state_.fleet.fits_without(npu, candidates_.offers(), ended);
  });
}

std::vector<JobId> EndChooser::fewest_on_one_npu() const {
  const Fleet& fleet = state_.fleet;
  std::int64_t looks = kLooksMax;
  std::optional<Choice> best;
  for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
    const Fleet::Npu& npu = fleet.npu(NpuIndex(i));
    if (npu.slices.empty() || !candidates_.contains(npu)) continue;
    const std::size_t most = best ? best->jobs.size() : npu.slices.size();
    std::optional<Choice> choice = fewest_on(NpuIndex(i), most, looks);
    if (choice && (!best || choice->cost < best->cost)) best = std::move(choice);
  }
  return best ? std::move(best->jobs) : std::vector<JobId>();
}

// Looks at all sets of one slice, then at all of two, and so on. `looks`: that may still be taken.
std::optional<EndChooser::Choice> EndChooser::fewest_on(NpuIndex npu, std::size_t most,
                                                        std::int64_t& looks) const {
  const Fleet& fleet = state_.fleet;
  std::vector<Holder> holders;
  std::vector<JobId> all;
  for (const Fleet::Slice& slice : fleet.npu(npu).slices) {
    const Handle handle = state_.queue.known_job(slice.job);
    holders.push_back({handle, slice.job, cost_of(state_.queue.job(handle)), 0});
    all.push_back(slice.job);
  }
  if (!fleet.fits_without(npu, candidates_.offers(), all)) return std::nullopt;
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.cost < b.cost; });
  for (std::size_t size = 1; size <= std::min(most, holders.size()); ++size) {
    std::optional<Choice> best;
    std::vector<std::size_t> places(size);
    for (std::size_t i = 0; i < size; ++i) places[i] = i;
    do {
      if (--looks < 0) return without_needless(npu, holders);
      Choice choice;
      for (const std::size_t place : places) {
        choice.jobs.push_back(holders[place].job);
        choice.cost += holders[place].cost;
      }
      if (best && !(choice.cost < best->cost)) continue;
      if (fleet.fits_without(npu, candidates_.offers(), choice.jobs)) best = std::move(choice);
    } while (advance(places, holders.size()));
    if (best) return best;
  }
  return std::nullopt;
}

// All of them but those that need not end, the dearest of which stay first.
EndChooser::Choice EndChooser::without_needless(NpuIndex npu, const std::vector<Holder>& holders) const {
  Choice choice;
  for (const Holder& holder : holders) choice.jobs.push_back(holder.job);
  for (std::size_t i = choice.jobs.size(); i-- > 0;) {
    std::vector<JobId> fewer = choice.jobs;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (state_.fleet.fits_without(npu, candidates_.offers(), fewer)) choice.jobs = std::move(fewer);
  }
  for (const Holder& holder : holders) {
    if (std::find(choice.jobs.begin(), choice.jobs.end(), holder.job) != choice.jobs.end())
      choice.cost += holder.cost;
  }
  return choice;
}

EndChooser::Parts EndChooser::collect_parts() const {
  const Fleet& fleet = state_.fleet;
  Parts parts;
  for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
    const Fleet::Npu& npu = fleet.npu(NpuIndex(i));
    if (!candidates_.contains(npu)) continue;
    Part& part = parts[{npu.node.value, npu.kind}];
    const bool is_healthy = npu.report.health == Health::kOk;
    if (npu.is_idle() && is_healthy) ++part.free;
    Holding holding;
    if (npu.job.valid()) {
      const JobRecord& job = state_.queue.job(state_.queue.known_job(npu.job));
      if (job.first_npu != NpuIndex(i)) continue;  // counted with its first
      for (const NpuIndex held : fleet.held_from(NpuIndex(i)))
        holding.npus += fleet.npu(held).report.health == Health::kOk ? 1 : 0;
      holding.jobs = {npu.job};
      holding.cost = cost_of(job);
    } else if (npu.report.strays.empty() && is_healthy) {
      for (const Fleet::Slice& slice : npu.slices) {
        holding.jobs.push_back(slice.job);
        holding.cost += cost_of(state_.queue.job(state_.queue.known_job(slice.job)));
      }
      holding.npus = holding.jobs.empty() ? 0 : 1;
    }
    if (holding.npus > 0) part.holdings.push_back(std::move(holding));
  }
  return parts;
}

// The cheapest of the sets that free enough NPUs: for each number of them up to that, the cheapest set of
// the holdings looked at so far.
std::optional<EndChooser::Choice> EndChooser::cheapest(const Part& part, std::int64_t wanted) {
  if (part.free >= wanted) return std::nullopt;  // it is not the NPUs
  const auto missing = static_cast<std::size_t>(wanted - part.free);
  constexpr std::size_t kNoStep = static_cast<std::size_t>(-1);
  struct Taken {
    const Holding* holding = nullptr;
    std::size_t before = kNoStep;
  };
  struct Best {
    bool known = false;
    EndCost cost;
    std::size_t step = kNoStep;
  };
  std::vector<Taken> steps;
  std::vector<Best> best(missing + 1);
  best[0].known = true;
  for (const Holding& holding : part.holdings) {
    for (std::size_t from = missing; from-- > 0;) {
      if (!best[from].known) continue;
      const std::size_t to = std::min(missing, from + static_cast<std::size_t>(holding.npus));
      EndCost cost = best[from].cost;
      cost += holding.cost;
      if (best[to].known && !(cost < best[to].cost)) continue;
      steps.push_back({&holding, best[from].step});
      best[to] = {true, cost, steps.size() - 1};
    }
  }
  if (!best[missing].known) return std::nullopt;
  Choice choice{best[missing].cost, {}};
  for (std::size_t step = best[missing].step; step != kNoStep; step = steps[step].before) {
    const std::vector<JobId>& jobs = steps[step].holding->jobs;
    choice.jobs.insert(choice.jobs.end(), jobs.begin(), jobs.end());
  }
  return choice;
}

}  // namespace tangram

// Which running jobs would have to end so that one in the queue could start. A look at the state; whether it
// would is for a replay to show. Private to src/scheduler.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/blockers.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"

namespace tangram {

// What the end of jobs costs, compared member by member: few jobs first, then those of little weight.
struct EndCost {
  std::int64_t jobs = 0;
  std::int64_t high = 0;    // of them, of that priority
  std::int64_t normal = 0;  // the same
  std::int64_t work = 0;    // what is lost: AI cores held, each for the milliseconds since its attempt began
  std::int64_t cores = 0;   // AI cores held

  EndCost& operator+=(const EndCost& other);
  friend auto operator<=>(const EndCost&, const EndCost&) = default;
};

class EndChooser {
 public:
  // `active`: all that hold NPUs, first to end first. Refers to its arguments.
  EndChooser(const CoreState& state, TimeMs now, const Need& need, const Candidates& candidates,
             const std::vector<Handle>& active);

  // Sets of jobs that free what `blocker` says is missing, in the order in which they are to be tried: single
  // ones, the cheapest first, at most `singles_max`; then the fewest that do it together, of equally few the
  // cheapest. Those of one quota are found by exchanging one for another: hardly ever is there a cheaper set.
  std::vector<std::vector<JobId>> sets(const Blocker& blocker, std::size_t singles_max) const;

 private:
  struct Holder {
    Handle handle = kNoHandle;
    JobId job;
    EndCost cost;
    std::int64_t amount = 0;  // of the limit that is in the way
  };
  // Jobs whose end frees NPUs together: one that has whole ones, or all those with slices of one NPU.
  struct Holding {
    std::vector<JobId> jobs;
    std::int64_t npus = 0;
    EndCost cost;
  };
  // NPUs of one kind on one node.
  struct Part {
    std::int64_t free = 0;
    std::vector<Holding> holdings;
  };
  using Parts = std::map<std::pair<std::uint32_t, std::uint32_t>, Part>;  // by node and kind
  struct Choice {
    EndCost cost;
    std::vector<JobId> jobs;
  };

  EndCost cost_of(const JobRecord& job) const;
  static std::vector<std::vector<JobId>> with_singles(const std::vector<Holder>& holders,
                                                      const std::function<bool(const Holder&)>& is_enough,
                                                      std::size_t singles_max, std::vector<JobId> together);
  std::vector<Holder> holders_below(TenantId tenant, Countable countable) const;
  std::vector<Holder> holders_of_candidates() const;
  static std::vector<JobId> fewest(std::vector<Holder> holders, std::int64_t missing);

  bool frees_slice(const Holder& holder) const;
  std::vector<JobId> fewest_on_one_npu() const;
  std::optional<Choice> fewest_on(NpuIndex npu, std::size_t most, std::int64_t& looks) const;
  Choice without_needless(NpuIndex npu, const std::vector<Holder>& holders) const;

  Parts collect_parts() const;
  static std::optional<Choice> cheapest(const Part& part, std::int64_t wanted);

  const CoreState& state_;
  const TimeMs now_;
  const Need& need_;
  const Candidates& candidates_;
  const std::vector<Handle>& active_;
};

}  // namespace tangram

// One group's case at one instant: start it here, or why not. Reads the state, changes nothing in it;
// remembers which NPUs are kept for jobs that waited past the bound and were judged before. Private to
// src/scheduler.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/state.h"

namespace tangram {

struct Verdict {
  enum class Outcome : std::uint8_t { kStart, kNever, kQuota, kQuotaKept, kCapacity };

  Outcome outcome = Outcome::kCapacity;
  ReasonCode reason = ReasonCode::kNone;
  Parking parking;
  Place place;     // kStart
  JobId kept_for;  // kQuotaKept, kNpusKept
};

// A job that waited past the bound and for which the quota of a tenant is kept.
struct QuotaKeeper {
  Rank rank = 0;
  JobId job;
};

class Judge {
 public:
  Judge(const CoreState& state, TimeMs now);

  // `rank` is that of the job of the group that would start. Quota first, then what is kept, then capacity.
  Verdict judge(Handle group, Rank rank);
  // After judge() found the group admissible but without room: keeps for `job` all NPUs that it could use.
  void keep_npus(Handle group, JobId job);

  bool keeps_npus() const { return keeps_npus_; }
  void forget_kept();

  std::optional<QuotaKeeper> quota_keeper(TenantId tenant) const;

  PlacementFilter kept() const { return {kept_from_, {}}; }
  bool fits_unkept(const DemandClass& demand) const {
    return state_.fleet.fits(demand.npus, demand.first_kind, kept());
  }
  bool is_kept(const DemandClass& demand) const {
    return state_.fleet.is_kept(demand.npus, demand.first_kind, kept());
  }
  // Why NPUs cannot be had at all, or kNone.
  ReasonCode impossible(std::int32_t npus, std::uint32_t first_kind) const;

 private:
  std::optional<Verdict> judge_limits(const Group& group) const;
  void allow_kinds(const Group& group);
  Verdict judge_capacity(const Group& group) const;

  const CoreState& state_;
  TimeMs now_;
  bool keeps_npus_ = false;
  std::vector<std::int32_t> kept_from_;  // by kind
  std::vector<JobId> keepers_;           // by kind: the first for whom it is kept
  std::vector<std::uint8_t> allowed_;    // by kind: what the group judged last may be charged for
};

}  // namespace tangram

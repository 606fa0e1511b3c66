// One group's case at one instant: start it here, or why not. Reads the state, changes nothing in it;
// remembers which NPUs are kept for jobs that waited past the bound and were judged before. Private to
// src/scheduler.
#pragma once

#include <forward_list>
#include <optional>
#include <vector>

#include "scheduler/state.h"

namespace tangram {

struct Verdict {
  enum class Outcome : std::uint8_t { kStart, kNever, kQuota, kQuotaKept, kCapacity };

  Outcome outcome = Outcome::kCapacity;
  ReasonCode reason = ReasonCode::kNone;
  Parking parking;
  Place place;                            // kStart
  std::optional<SlicePlace> slice_place;  // kStart of a request for a slice, instead of that
  JobId kept_for;                         // kQuotaKept, kNpusKept
};

// A job that waited past the bound and for which the quota of a tenant is kept.
struct QuotaKeeper {
  Rank rank = 0;
  JobId job;
};

ReasonCode reason_of(Shortage shortage);

class Judge {
 public:
  Judge(const CoreState& state, TimeMs now);

  // `rank` is that of the job of the group that would start. First whether it is admitted (its quota, and
  // what is kept of that for others), then its place; the first alone where somebody else chooses that.
  Verdict judge(Handle group, Rank rank);
  // After judge() found the group admissible but without room: keeps for `job` all NPUs that it could use.
  void keep_npus(Handle group, JobId job);

  void forget_kept();

  std::optional<QuotaKeeper> quota_keeper(TenantId tenant) const;

  PlacementFilter kept() const { return {kept_from_, {}}; }
  bool fits(const Need& need, const PlacementFilter& filter) const {
    return need.is_slice() ? state_.fleet.fits(offers(need), filter)
                           : state_.fleet.fits(need.npus, need.first_kind, filter);
  }
  bool fits_unkept(const Need& need) const { return fits(need, kept()); }
  bool is_kept(const Need& need) const {
    return need.is_slice() ? state_.fleet.is_kept(offers(need), kept())
                           : state_.fleet.is_kept(need.npus, need.first_kind, kept());
  }
  bool exists_healthy(const Need& need) const {
    return need.is_slice() ? state_.fleet.exists_healthy(offers(need))
                           : state_.fleet.exists_healthy(need.npus, need.first_kind);
  }
  // Why it cannot be had at all, or kNone.
  ReasonCode impossible(const Need& need) const;
  // Why it cannot be had now, leaving aside what is kept and what a quota allows.
  ReasonCode busy_reason(const Need& need) const;
  // What a request for a slice comes to (Fleet::offers).
  const std::vector<SliceOffer>& offers(const Need& need) const;

 private:
  struct KnownOffers {
    Need need;
    std::vector<SliceOffer> offers;
  };

  std::optional<Verdict> judge_limits(const Group& group) const;
  void allow_kinds(const Group& group);
  void allow_offers(const Group& group);
  Verdict over_each_quota(const Group& group, const Amounts& charge) const;
  Verdict judge_capacity(const Group& group) const;
  Verdict judge_offers() const;

  const CoreState& state_;
  TimeMs now_;
  const bool admits_only_;                  // somebody else chooses the node: hardware is no obstacle here
  std::vector<std::int32_t> kept_from_;     // by kind
  std::vector<JobId> keepers_;              // by kind: the first for whom it is kept
  std::vector<std::uint8_t> allowed_;       // by kind: what the group judged last may be charged for
  std::vector<SliceOffer> allowed_offers_;  // the same, of a request for a slice
  mutable std::forward_list<KnownOffers> known_offers_;  // no kind comes or goes while a judge lives
};

}  // namespace tangram

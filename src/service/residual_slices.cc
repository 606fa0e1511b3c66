#include "service/residual_slices.h"

#include <algorithm>
#include <utility>

namespace tangram::service {
namespace {

constexpr std::int64_t kMsPerSecond = 1000;

bool same_template(const BookedSlice& booked, const SeenSlice& seen) {
  return seen.template_name.empty() || seen.template_name == booked.template_name;
}

bool names(const BookedSlice& booked, const SeenSlice& seen) {
  return booked.physical_id == seen.physical_id && booked.id == seen.id;
}

class Review {
 public:
  Review(const std::vector<BookedSlice>& book, const SlicesSeen& seen, const Sightings& sightings,
         const ForeignPolicy& policy, TimeMs now)
      : book_(book), seen_(seen), sightings_(sightings), policy_(policy), now_(now) {}

  SliceReview run() {
    SliceReview review;
    for (const SeenSlice& slice : seen_.slices) review.slices.push_back(judge(slice));
    const std::set<std::uint32_t> readable(seen_.npus.begin(), seen_.npus.end());
    for (std::size_t i = 0; i < book_.size(); ++i) {
      if (!found_.contains(i) && !book_[i].in_flight && readable.contains(book_[i].physical_id)) {
        review.missing.push_back(i);
      }
    }
    return review;
  }

 private:
  SliceJudgement judge(const SeenSlice& slice) {
    SliceJudgement judgement{
        slice.physical_id, slice.id, slice.template_name, SliceVerdict::kForeign, false, {}, {}};
    if (!is_slice_id(slice.physical_id, slice.id)) {
      return with(judgement, SliceVerdict::kForeign, "its id is none of this NPU's");
    }
    const auto entry = entry_of(slice);
    if (entry) {
      found_.insert(*entry);
      judgement.own = true;
      judgement.booked = entry;
      return judge_own(judgement, book_[*entry], slice);
    }
    if (contradicts_book(slice)) {
      return with(judgement, SliceVerdict::kForeign, "the book has another template under its id");
    }
    return judge_foreign(judgement, slice);
  }

  // A holder comes before what has ended under the same id.
  std::optional<std::size_t> entry_of(const SeenSlice& slice) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < book_.size(); ++i) {
      if (!names(book_[i], slice) || !same_template(book_[i], slice)) continue;
      if (!best || book_[*best].state == BookedSlice::State::kEnded) best = i;
    }
    return best;
  }

  // The book has another template under this id.
  bool contradicts_book(const SeenSlice& slice) const {
    return std::any_of(book_.begin(), book_.end(), [&slice](const BookedSlice& booked) {
      return names(booked, slice) && booked.state != BookedSlice::State::kEnded;
    });
  }

  SliceJudgement judge_own(const SliceJudgement& judgement, const BookedSlice& booked,
                           const SeenSlice& slice) const {
    switch (booked.state) {
      case BookedSlice::State::kHeld:
        return with(judgement, SliceVerdict::kKeep, "a lease holds it");
      case BookedSlice::State::kOrdered:
        if (booked.in_flight) return with(judgement, SliceVerdict::kWait, "its order is under way");
        return with(judgement, SliceVerdict::kAdopt, "it was ordered");
      case BookedSlice::State::kEnded:
        break;
    }
    if (any_under(slice, &BookedSlice::in_flight)) {
      return with(judgement, SliceVerdict::kWait, "an order about it is under way");
    }
    if (any_under(slice, &BookedSlice::supervised)) {
      return with(judgement, SliceVerdict::kWait, "the supervisor of its attempt lives");
    }
    if (!slice.container_used) {
      return with(judgement, SliceVerdict::kWait, "the device does not say whether it is in use");
    }
    if (*slice.container_used) return with(judgement, SliceVerdict::kWait, "a container uses it");
    return with(judgement, SliceVerdict::kReclaim, "its lease has ended");
  }

  SliceJudgement judge_foreign(const SliceJudgement& judgement, const SeenSlice& slice) const {
    const std::string unknown = "neither a lease nor an order of ours";
    if (!policy_.reclaim) return with(judgement, SliceVerdict::kForeign, unknown);
    const Sightings::Sighting sighting = sightings_.of(slice);
    const std::int64_t age_ms = sighting.looks == 0 ? 0 : now_.value - sighting.first.value;
    if (sighting.looks < policy_.sightings_min || age_ms < policy_.grace_ms) {
      return with(judgement, SliceVerdict::kWait,
                  unknown + "; seen " + std::to_string(sighting.looks) + " times in " +
                      std::to_string(age_ms / kMsPerSecond) + " s, may be returned after " +
                      std::to_string(policy_.grace_ms / kMsPerSecond) + " s");
    }
    if (slice.container_used != false) {
      return with(judgement, SliceVerdict::kWait,
                  unknown + (slice.container_used ? "; a container uses it"
                                                  : "; the device does not say whether it is in use"));
    }
    // A process of the host does not show as use of the slice.
    if (slice.has_strange_processes != false) {
      return with(judgement, SliceVerdict::kWait,
                  unknown + (slice.has_strange_processes ? "; a process that no lease owns uses this NPU"
                                                         : "; it is not known which processes use this NPU"));
    }
    return with(judgement, SliceVerdict::kReclaim,
                unknown + ", for " + std::to_string(age_ms / kMsPerSecond) + " s");
  }

  // Several ended attempts may stand behind one id.
  bool any_under(const SeenSlice& slice, bool BookedSlice::* flag) const {
    return std::any_of(book_.begin(), book_.end(), [&slice, flag](const BookedSlice& booked) {
      return names(booked, slice) && booked.*flag;
    });
  }

  static SliceJudgement with(SliceJudgement judgement, SliceVerdict verdict, std::string why) {
    judgement.verdict = verdict;
    judgement.why = std::move(why);
    return judgement;
  }

  const std::vector<BookedSlice>& book_;
  const SlicesSeen& seen_;
  const Sightings& sightings_;
  const ForeignPolicy& policy_;
  TimeMs now_;
  std::set<std::size_t> found_;
};

}  // namespace

SlicesSeen slices_seen(const DeviceScan& scan, const std::optional<std::set<std::int64_t>>& own_pids) {
  SlicesSeen seen;
  for (const DeviceNpu& npu : scan.npus) {
    if (npu.health == Health::kAbsent || !npu.slicing.slices.valid) continue;
    seen.npus.push_back(npu.physical_id);
    std::optional<bool> strangers;
    if (npu.processes.valid && own_pids) {
      const std::vector<DeviceProcess>& processes = npu.processes.value;
      strangers = std::any_of(processes.begin(), processes.end(), [&own_pids](const DeviceProcess& process) {
        return !own_pids->contains(process.pid);
      });
    }
    for (const DeviceSlice& slice : npu.slicing.slices.value) {
      std::optional<bool> used;
      if (slice.container_used.valid) used = slice.container_used.value;
      seen.slices.push_back({npu.physical_id, slice.id,
                             slice.template_name.valid ? slice.template_name.value : std::string(), used,
                             strangers});
    }
  }
  return seen;
}

void Sightings::note(const SlicesSeen& seen, TimeMs now) {
  std::set<Key> there;
  for (const SeenSlice& slice : seen.slices) {
    Key key{slice.physical_id, slice.id, slice.template_name};
    Sighting& sighting = sightings_.try_emplace(key, Sighting{now, 0}).first->second;
    ++sighting.looks;
    there.insert(std::move(key));
  }
  const std::set<std::uint32_t> readable(seen.npus.begin(), seen.npus.end());
  std::erase_if(sightings_, [&](const auto& entry) {
    return readable.contains(std::get<0>(entry.first)) && !there.contains(entry.first);
  });
}

Sightings::Sighting Sightings::of(const SeenSlice& slice) const {
  const auto found = sightings_.find(Key{slice.physical_id, slice.id, slice.template_name});
  return found == sightings_.end() ? Sighting{} : found->second;
}

std::string_view to_string(SliceVerdict verdict) {
  switch (verdict) {
    case SliceVerdict::kKeep:
      return "keep";
    case SliceVerdict::kAdopt:
      return "adopt";
    case SliceVerdict::kReclaim:
      return "reclaim";
    case SliceVerdict::kWait:
      return "wait";
    case SliceVerdict::kForeign:
      return "foreign";
  }
  return "foreign";
}

SliceReview review_slices(const std::vector<BookedSlice>& book, const SlicesSeen& seen,
                          const Sightings& sightings, const ForeignPolicy& policy, TimeMs now) {
  return Review(book, seen, sightings, policy, now).run();
}

}  // namespace tangram::service

// One page of a listing of jobs, made in steps that stay short however long the queue is: each is taken under
// the lock that the writer needs, too, and the writer goes first between two of them.
//
//   JobListing listing(caller, filter);
//   while (cell.read([&](const State& state) { return listing.look(state); })) {}
//   listing.arrange();
//   while (cell.read([&](const State& state) { return listing.show(state); })) {}
//   return std::move(listing).take();
//
// What changes meanwhile may be seen or not; no job stands twice on a page, and each is shown as it is when
// its view is made, if it still passes the filter then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/access.h"
#include "service/state.h"
#include "wire/schema.h"

namespace tangram::service {

struct JobFilter {
  std::optional<TenantId> tenant;  // it and its subtree
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<JobState> states;  // none: any
  bool all = false;              // ended ones too
  std::size_t limit = 1'000;
  std::optional<JobId> after;
};

// Unfinished jobs first in queue order behind the active ones; with `all` everything by id. Not thread-safe.
class JobListing {
 public:
  // Jobs of one step.
  static constexpr std::size_t kLookedAtOnce = 256;
  static constexpr std::size_t kShownAtOnce = 16;

  JobListing(const Caller& caller, JobFilter filter) : caller_(caller), filter_(std::move(filter)) {}

  // Looks at the next jobs. False: that were all.
  bool look(const State& state);
  // Chooses what stands on the page. Takes time with a long queue; needs no state.
  void arrange();
  // Makes the next views. False: the page is whole.
  bool show(const State& state);

  wire::JobList take() && { return std::move(list_); }

 private:
  struct Found {
    std::optional<std::uint64_t> rank;  // in the queue; none: not in it
    JobId job;
    bool passes = false;
    std::int64_t position = 0;
  };

  bool look_at_live(const State& state);
  bool look_at_ended(const State& state);
  bool passes(const State& state, JobId job) const;
  std::vector<Found>::const_iterator first_of_page() const;

  const Caller& caller_;
  const JobFilter filter_;
  JobId looked_at_{0};  // the last
  bool live_done_ = false;
  std::size_t ended_passed_ = 0;
  std::vector<Found> found_;
  std::vector<Found> page_;
  std::size_t shown_ = 0;
  wire::JobList list_;
};

// The place of a job in the queue, in steps likewise.
class QueuePlace {
 public:
  // `rank`: of the job, see Scheduler::rank().
  explicit QueuePlace(std::uint64_t rank) : rank_(rank) {}

  // Looks at the next jobs. False: that were all.
  bool look(const State& state);
  std::int64_t position() const { return before_ + 1; }

 private:
  const std::uint64_t rank_;
  JobId looked_at_{0};
  std::int64_t before_ = 0;
};

}  // namespace tangram::service

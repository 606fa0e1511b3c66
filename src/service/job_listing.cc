#include "service/job_listing.h"

#include <algorithm>

#include "service/views.h"

namespace tangram::service {

bool JobListing::passes(const State& state, JobId job) const {
  const auto ended = filter_.all ? state.ended(job) : nullptr;
  const auto status = ended ? std::optional(ended->status) : state.core().job(job);
  const LiveJob* live = state.live(job);
  const auto program = ended ? ended->program : live != nullptr ? live->program : nullptr;
  if (!status || !program) return false;
  const TenantId tenant = status->spec.tenant;
  if (!may_see(state, caller_, tenant)) return false;
  if (filter_.tenant && !state.is_within(tenant, *filter_.tenant)) return false;
  const auto& states = filter_.states;
  if (!states.empty() && std::find(states.begin(), states.end(), status->state) == states.end()) return false;
  return std::all_of(filter_.labels.begin(), filter_.labels.end(), [&](const auto& label) {
    const auto found = program->labels.find(label.first);
    return found != program->labels.end() && found->second == label.second;
  });
}

bool JobListing::look(const State& state) {
  return live_done_ ? look_at_ended(state) : look_at_live(state);
}

// All of them, also those that are not shown: they have places in the queue.
bool JobListing::look_at_live(const State& state) {
  auto live = state.live_jobs().upper_bound(looked_at_);
  for (std::size_t looked = 0; live != state.live_jobs().end() && looked < kLookedAtOnce; ++live, ++looked) {
    looked_at_ = live->first;
    found_.push_back({state.core().rank(live->first), live->first, passes(state, live->first), 0});
  }
  if (live != state.live_jobs().end()) return true;
  live_done_ = true;
  looked_at_ = filter_.after.value_or(JobId(0));
  return filter_.all;
}

// They are listed by id, so one page of them is enough.
bool JobListing::look_at_ended(const State& state) {
  auto ended = state.ended_jobs().upper_bound(looked_at_);
  for (std::size_t looked = 0; ended != state.ended_jobs().end() && looked < kLookedAtOnce;
       ++ended, ++looked) {
    if (ended_passed_ > filter_.limit) return false;
    looked_at_ = ended->first;
    if (!passes(state, ended->first)) continue;
    found_.push_back({std::nullopt, ended->first, true, 0});
    ++ended_passed_;
  }
  return ended != state.ended_jobs().end();
}

std::vector<JobListing::Found>::const_iterator JobListing::first_of_page() const {
  if (!filter_.after) return found_.begin();
  const JobId after = *filter_.after;
  const auto at =
      std::find_if(found_.begin(), found_.end(), [&](const Found& one) { return one.job == after; });
  if (at != found_.end()) return at + 1;
  // The job has left the listing since: go on behind where its id would stand.
  return std::find_if(found_.begin(), found_.end(), [&](const Found& one) { return one.job > after; });
}

void JobListing::arrange() {
  std::sort(found_.begin(), found_.end(), [](const Found& one, const Found& other) {
    return one.rank != other.rank ? one.rank < other.rank : one.job < other.job;
  });
  std::int64_t position = 0;
  for (Found& one : found_) {
    if (one.rank) one.position = ++position;
  }
  if (filter_.all) {
    std::sort(found_.begin(), found_.end(),
              [](const Found& one, const Found& other) { return one.job < other.job; });
    // One that ended in between was found among both.
    const auto same = [](const Found& one, const Found& other) { return one.job == other.job; };
    found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
  }
  for (auto at = first_of_page(); at != found_.end(); ++at) {
    if (!at->passes) continue;
    if (page_.size() == filter_.limit) {
      if (!page_.empty()) list_.next = wire::format_job_id(page_.back().job);
      break;
    }
    page_.push_back(*at);
  }
  found_ = {};
}

bool JobListing::show(const State& state) {
  for (std::size_t made = 0; shown_ < page_.size() && made < kShownAtOnce; ++shown_, ++made) {
    const Found& one = page_[shown_];
    if (!passes(state, one.job)) continue;
    list_.items.push_back(make_job_view(state, one.job, caller_.language));
    const JobState now = list_.items.back().state;
    const bool queued = now == JobState::kReady || now == JobState::kWaiting;
    if (queued && one.position > 0) list_.items.back().position = one.position;
  }
  return shown_ < page_.size();
}

bool QueuePlace::look(const State& state) {
  auto live = state.live_jobs().upper_bound(looked_at_);
  for (std::size_t looked = 0; live != state.live_jobs().end() && looked < JobListing::kLookedAtOnce;
       ++live, ++looked) {
    looked_at_ = live->first;
    const auto rank = state.core().rank(live->first);
    if (rank && *rank < rank_) ++before_;
  }
  return live != state.live_jobs().end();
}

}  // namespace tangram::service

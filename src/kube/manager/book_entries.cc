// The life of a Pod in the book.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "kube/manager/book_state.h"

namespace tangram::kube::manager {
namespace {

// Whom Pods are charged to whose label names no tenant: nobody gets anything for it.
constexpr const char* kUnowned = "tangram-unowned";

bool is_tenant_name(std::string_view name) {
  const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), is_allowed) &&
         name.front() != '-' && name.back() != '-';
}

bool asks_for_the_same(const PodFacts& a, const PodFacts& b) {
  return a.granted == b.granted && a.needs == b.needs && a.tenant == b.tenant && a.priority == b.priority &&
         a.bandwidth_bps == b.bandwidth_bps && a.time_limit_ms == b.time_limit_ms;
}

}  // namespace

BookState::Stage BookState::first_stage(const PodFacts& facts) {
  if (!facts.node.empty()) return Stage::kBound;
  if (!facts.open()) return Stage::kQueued;
  // A leader before this one has chosen a place and may be about to bind it: it is kept free for a while.
  return facts.allocation.empty() ? Stage::kAdmitted : Stage::kReserved;
}

std::string BookState::tenant_of(const Entry& entry) const {
  return is_tenant_name(entry.facts.tenant) ? entry.facts.tenant : kUnowned;
}

JobSpec BookState::spec_of(const Entry& entry) const {
  JobSpec spec;
  spec.id = entry.job;
  spec.tenant = core_.find_tenant(tenant_of(entry)).value_or(TenantId());
  spec.priority = entry.facts.priority;
  spec.bandwidth_bps = entry.facts.bandwidth_bps;
  spec.time_limit_ms = entry.facts.time_limit_ms;
  return spec;
}

BookState::Entry* BookState::find(const extender::PodRef& pod) {
  const auto at = pods_.find(key_of(pod));
  const bool same = at != pods_.end() && (pod.uid.empty() || at->second.facts.ref.uid == pod.uid);
  return same ? &at->second : nullptr;
}

const BookState::Entry* BookState::find(const extender::PodRef& pod) const {
  const auto at = pods_.find(key_of(pod));
  const bool same = at != pods_.end() && (pod.uid.empty() || at->second.facts.ref.uid == pod.uid);
  return same ? &at->second : nullptr;
}

void BookState::put_pod(PodFacts facts) {
  const std::string key = key_of(facts.ref);
  auto at = pods_.find(key);
  if (at != pods_.end() && at->second.facts.ref.uid != facts.ref.uid) {
    erase(at);
    at = pods_.end();
  }
  // One that is deleted before it is bound never runs.
  const bool holds = !facts.ended && !(facts.going && facts.node.empty());
  if (!holds) {
    if (at != pods_.end()) erase(at);
    return;
  }
  if (at != pods_.end()) return update(at->second, std::move(facts));
  Entry& entry = pods_[key];
  entry.facts = std::move(facts);
  entry.seen = timing_.now();
  begin(entry);
}

// As the API shows it, of a Pod of which nothing else is known.
void BookState::begin(Entry& entry) {
  entry.parts = parts_of(entry.facts.needs, *chips_);
  entry.told = entry.facts.told;
  entry.stage = first_stage(entry.facts);
  refused_.erase(key_of(entry.facts.ref));
  if (entry.stage == Stage::kReserved) {
    auto place = read_allocation(entry.facts.allocation);
    if (place) {
      entry.place = std::move(*place);
      set_until(entry, timing_.now() + options_.reservation);
    } else {
      entry.stage = Stage::kAdmitted;
    }
  }
  if (entry.stage == Stage::kAdmitted) refused_.insert(key_of(entry.facts.ref));
  if (!complete_) return;
  if (core_.find_tenant(tenant_of(entry))) {
    enter(entry);
  } else {
    rebuild();
  }
}

// Into the core, which does not know it.
void BookState::enter(Entry& entry) {
  switch (entry.stage) {
    case Stage::kUnfit:
      if (entry.until > timing_.now()) return;
      set_until(entry, {});
      return submit(entry);
    case Stage::kQueued:
      return submit(entry);
    case Stage::kOpening:
    case Stage::kAdmitted:
      return observe(entry, {}, false);
    case Stage::kReserved:
      return observe(entry, places_on(entry, entry.place), false);
    case Stage::kBound:
      return observe(entry, bound_places(entry), true);
  }
}

void BookState::set_unfit(Entry& entry, std::string reason, std::string problem) {
  entry.stage = Stage::kUnfit;
  entry.problem_reason = std::move(reason);
  entry.problem = std::move(problem);
}

void BookState::submit(Entry& entry) {
  if (!entry.facts.problem.empty()) {
    return set_unfit(entry, "kube.annotation.invalid", entry.facts.problem);
  }
  if (const std::string why = why_unfit(entry.facts.needs, *chips_); !why.empty()) {
    return set_unfit(entry, "kube.grant.unknown", why);
  }
  if (const auto closed = closed_.find(tenant_of(entry)); closed != closed_.end()) {
    return set_unfit(entry, "kube.tenant.closed", closed->second);
  }
  PartsSubmitted submitted{spec_of(entry), entry.parts.parts};
  submitted.spec.id = JobId(next_job_);
  if (const auto good = core_.check(Step(submitted)); !good) {
    return set_unfit(entry, good.error().reason, good.error().message);
  }
  ++next_job_;
  core_.apply(Step(submitted), core_time(entry.facts));
  entry.job = submitted.spec.id;
  entry.stage = Stage::kQueued;
  by_job_[entry.job.value] = &entry;
}

// Whatever it was before: the API shows it so, or this process has decided it.
void BookState::observe(Entry& entry, std::vector<PartPlace> places, bool running) {
  PartsObserved observed;
  observed.spec = spec_of(entry);
  observed.parts = entry.parts.parts;
  observed.places = std::move(places);
  observed.running = running;
  const bool is_new = !entry.job.valid();
  if (is_new) observed.spec.id = JobId(next_job_);
  if (const auto status = core_.job(observed.spec.id)) observed.attempt = std::max(status->attempt, 1);
  if (const auto good = core_.check(Step(observed)); !good) {
    log::warn("Pod " + key_of(entry.facts.ref) +
              " holds NPUs that cannot be counted: " + good.error().to_string());
    leave(entry);
    return;
  }
  if (is_new) ++next_job_;
  core_.apply(Step(observed), core_time(entry.facts));
  entry.job = observed.spec.id;
  by_job_[entry.job.value] = &entry;
}

void BookState::update(Entry& entry, PodFacts facts) {
  const bool same = asks_for_the_same(entry.facts, facts);
  entry.facts = std::move(facts);
  const bool waits = entry.stage == Stage::kQueued || entry.stage == Stage::kUnfit;
  if (!complete_ || (!same && waits)) {
    leave(entry);
    set_until(entry, {});
    return begin(entry);
  }
  if (!entry.facts.node.empty()) {
    if (entry.stage != Stage::kBound) bind(entry);
    return;
  }
  if (!entry.facts.open()) return;
  if (waits) {
    // Another leader's patch that arrived late, or one of ours of which the answer was lost.
    set_until(entry, {});
    entry.stage = Stage::kAdmitted;
    observe(entry, {}, false);
    refused_.insert(key_of(entry.facts.ref));
  } else if (entry.stage == Stage::kOpening) {
    entry.stage = Stage::kAdmitted;
  }
}

void BookState::bind(Entry& entry) {
  set_until(entry, {});
  refused_.erase(key_of(entry.facts.ref));
  const Stage before = std::exchange(entry.stage, Stage::kBound);
  if (before == Stage::kReserved && entry.job.valid()) {
    const auto allocation = read_allocation(entry.facts.allocation);
    const auto status = core_.job(entry.job);
    const bool held = status && status->state == JobState::kStarting;
    const bool as_reserved = allocation && entry.facts.node == entry.place.node &&
                             allocation->node == entry.place.node &&
                             allocation->containers == entry.place.containers;
    if (held && as_reserved) {
      core_.apply(Input(AttemptRunning{entry.job, status->attempt}), core_now());
      return;
    }
    if (held) core_.apply(Step(PlaceDropped{entry.job, status->attempt}), core_now());
    room_ = true;
  }
  observe(entry, bound_places(entry), true);
}

// Out of the core, and what it held is free.
void BookState::leave(Entry& entry) {
  if (!entry.job.valid()) return;
  if (const auto status = core_.job(entry.job)) {
    const bool placed = status->state == JobState::kStarting || status->state == JobState::kRunning;
    if (placed) {
      core_.apply(Input(AttemptEnded{entry.job, status->attempt, Outcome::kSucceeded, false}), core_now());
      room_ = true;
    } else {
      core_.apply(Input(JobCancelled{entry.job}), core_now());
    }
  }
  by_job_.erase(entry.job.value);
  entry.job = JobId();
  entry.unresolved = false;
}

void BookState::erase(Entries::iterator at) {
  leave(at->second);
  timed_.erase(at->first);
  refused_.erase(at->first);
  pods_.erase(at);
}

void BookState::remove_pod(const extender::PodRef& pod) {
  const auto at = pods_.find(key_of(pod));
  if (at != pods_.end() && (pod.uid.empty() || at->second.facts.ref.uid == pod.uid)) erase(at);
}

void BookState::set_until(Entry& entry, Milliseconds until) {
  entry.until = until;
  const std::string key = key_of(entry.facts.ref);
  if (until.count() != 0) {
    timed_.insert(key);
  } else {
    timed_.erase(key);
  }
}

// It stays admitted.
void BookState::unreserve(Entry& entry) {
  if (entry.stage != Stage::kReserved) return;
  set_until(entry, {});
  entry.stage = Stage::kAdmitted;
  entry.place = Allocation();
  entry.unresolved = false;
  const auto status = core_.job(entry.job);
  if (status && status->state == JobState::kStarting) {
    core_.apply(Step(PlaceDropped{entry.job, status->attempt}), core_now());
  }
  room_ = true;
}

}  // namespace tangram::kube::manager

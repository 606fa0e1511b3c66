// apply(): the only place where the state changes.
#include <algorithm>

#include "base/invariant.h"
#include "scheduler/judge.h"
#include "scheduler/state.h"
#include "scheduler/steps.h"

namespace tangram {
namespace {

// All groups go back to their demand classes and are judged anew; they keep the reason that they show until
// then.
void review_all(CoreState& state) {
  for (const Handle group : state.queue.groups()) {
    const GroupKey& key = state.queue.group(group).key;
    state.queue.park(group, state.queue.group(group).reason, Parking{});
    state.queue.set_demand(group, demand_of(state, key.request, key.bandwidth_bps));
  }
}

class ApplyInput {
 public:
  ApplyInput(CoreState& state, TimeMs now) : state_(state), now_(now) {}

  void operator()(const SettingsChanged& settings) {
    TG_ASSERT(settings.keep_after_ms >= 0, "a bound is not negative");
    const bool counts_else = state_.settings.slice_count != settings.slice_count ||
                             state_.settings.places_elsewhere != settings.places_elsewhere;
    state_.settings = settings;
    const bool cuts_else = state_.fleet.set_slice_variants(settings.slice_variants);
    if (counts_else || cuts_else) review_all(state_);
  }

  void operator()(const NodeReported& reported) {
    switch (state_.fleet.report(reported)) {
      case FleetChange::kNothing:
      case FleetChange::kCounts:
        break;
      case FleetChange::kKinds:
        review_all(state_);
        break;
    }
  }

  void operator()(const TenantPut& put) {
    const bool changed = !state_.tenants.exists(put.id) || state_.tenants.spec(put.id) != put.spec;
    state_.tenants.put(put.id, put.spec);
    TG_ASSERT(state_.tenants.find(put.spec.name) == put.id, "a tenant is found by its name");
    if (!changed) return;
    for (const Handle group : state_.queue.groups()) {
      const Group& waiting = state_.queue.group(group);
      if (waiting.parking.slot == Slot::kCapacity || !state_.tenants.is_below(waiting.key.tenant, put.id))
        continue;
      state_.queue.park(group, waiting.reason, Parking{});
    }
  }

  void operator()(const TenantDeleted& deleted) {
    state_.tenants.remove(deleted.id);
    TG_ASSERT(!state_.tenants.exists(deleted.id), "a deleted tenant is gone");
  }

  void operator()(const JobSubmitted& submitted) {
    JobRecord record;
    record.spec = submitted.spec;
    record.submitted_at = record.queued_at = now_;
    state_.next_job = std::max(state_.next_job, submitted.spec.id.value + 1);
    const Handle job = state_.queue.add_job(record);
    state_.tenants.count_jobs(record.spec.tenant, +1, +1);
    enqueue(state_, job);
  }

  void operator()(const JobCancelled& cancelled) {
    const Handle job = state_.queue.known_job(cancelled.job);
    JobRecord& record = state_.queue.job(job);
    if (record.is_unplaced()) {
      state_.tenants.refund(record.spec.tenant, record.charge);
      end_job(state_, job, false);
      return;
    }
    if (!record.is_queued()) {
      record.cancel_requested = true;
      return;
    }
    leave_queue(state_, job);
    end_job(state_, job, true);
  }

  void operator()(const AttemptRunning& running) {
    JobRecord& record = state_.queue.job(state_.queue.known_job(running.job));
    TG_ASSERT(record.state == JobState::kStarting || record.state == JobState::kRunning,
              "an active job runs");
    TG_ASSERT(record.attempt == running.attempt, "the report is of the present attempt");
    if (record.state == JobState::kStarting) record.started_at = now_;
    record.state = JobState::kRunning;
  }

  void operator()(const AttemptEnded& ended) {
    const Handle job = state_.queue.known_job(ended.job);
    JobRecord& record = state_.queue.job(job);
    TG_ASSERT(!record.is_queued() && record.attempt == ended.attempt, "the present attempt ends");
    let_go(state_, job);
    state_.tenants.refund(record.spec.tenant, record.charge);
    record.charge = Amounts{};
    record.over_limit = false;
    if (!ended.requeue) {
      end_job(state_, job, false);
      return;
    }
    record.state = JobState::kReady;
    record.queued_at = now_;
    ++record.restarts;
    if (ended.outcome == Outcome::kFailed) ++record.failures;
    state_.tenants.count_jobs(record.spec.tenant, 0, +1);
    enqueue(state_, job);
  }

  void operator()(const AllocationObserved& observed) {
    JobRecord record;
    record.spec = observed.spec;
    record.state = JobState::kRunning;
    record.attempt = observed.attempt;
    record.submitted_at = record.queued_at = record.started_at = now_;
    record.first_npu = observed.npus.front();
    if (observed.slice) {
      record.charge = charge_of(state_, observed.spec, record.first_npu, observed.slice);
    } else {
      record.charge = {static_cast<std::int64_t>(observed.npus.size()), 0, 0, 1, observed.spec.bandwidth_bps};
      for (const NpuIndex npu : observed.npus) {
        record.charge[index_of(Countable::kMemoryTotal)] += state_.fleet.npu(npu).report.memory.count;
        record.charge[index_of(Countable::kAiCores)] += state_.fleet.npu(npu).report.ai_cores;
      }
    }
    record.over_limit = state_.tenants.first_block(observed.spec.tenant, record.charge).has_value();
    state_.next_job = std::max(state_.next_job, observed.spec.id.value + 1);
    take(state_.fleet, observed.spec.id, observed.npus, observed.slice, false);
    state_.tenants.count_jobs(observed.spec.tenant, +1, 0);
    state_.tenants.charge(observed.spec.tenant, record.charge);
    state_.queue.add_job(record);
  }

 private:
  CoreState& state_;
  TimeMs now_;
};

class ApplyDecision {
 public:
  ApplyDecision(CoreState& state, TimeMs now) : state_(state), now_(now) {}

  void operator()(const JobStarted& started) {
    const Handle job = state_.queue.known_job(started.job);
    JobRecord& record = state_.queue.job(job);
    TG_ASSERT(record.is_queued() && started.attempt == record.attempt + 1,
              "a queued job starts its next attempt");
    TG_ASSERT(started.npus.size() == static_cast<std::size_t>(record.spec.request.npus),
              "a job gets what it asked");
    leave_queue(state_, job);
    TG_ASSERT(!started.slice || record.spec.request.kind == RequestKind::kSlice,
              "who gets a slice asked for one");
    record.charge = charge_of(state_, record.spec, started.npus.front(), started.slice);
    record.first_npu = started.npus.front();
    record.state = JobState::kStarting;
    record.attempt = started.attempt;
    record.started_at = now_;
    // Whether the mix is legal was decided by the catalogue of its day.
    take(state_.fleet, started.job, started.npus, started.slice, !started.slice);
    state_.tenants.charge(record.spec.tenant, record.charge);
    state_.tenants.count_jobs(record.spec.tenant, 0, -1);
  }

  void operator()(const JobWaits& waits) {
    const JobRecord& record = state_.queue.job(state_.queue.known_job(waits.job));
    TG_ASSERT(record.is_queued() && record.group != kNoHandle, "only a queued job waits");
    TG_ASSERT(waits.reason != ReasonCode::kNone, "a wait has a reason");
    const Verdict verdict = Judge(state_, now_).judge(record.group, state_.rank(record, now_));
    state_.queue.park(record.group, waits.reason,
                      verdict.reason == waits.reason ? verdict.parking : Parking{});
  }

  void operator()(const JobRefused& refused) {
    const Handle job = state_.queue.known_job(refused.job);
    TG_ASSERT(state_.queue.job(job).is_queued(), "only a queued job is refused");
    leave_queue(state_, job);
    end_job(state_, job, true);
  }

 private:
  CoreState& state_;
  TimeMs now_;
};

}  // namespace

void leave_queue(CoreState& state, Handle job) {
  const Handle group = state.queue.job(job).group;
  state.queue.dequeue(job);
  state.queue.drop_if_empty(group);
}

void end_job(CoreState& state, Handle job, bool was_queued) {
  const JobSpec& spec = state.queue.job(job).spec;
  TG_ASSERT(state.queue.job(job).group == kNoHandle, "a job leaves the queue before it ends");
  state.tenants.count_jobs(spec.tenant, -1, was_queued ? -1 : 0);
  if (spec.request.has_parts()) state.parts.drop(spec.request.parts);
  state.queue.remove_job(job);
}

void apply_input(CoreState& state, const Input& input, TimeMs now) {
  state.clock = std::max(state.clock, now);
  std::visit(ApplyInput(state, state.clock), input);
}

void apply_decision(CoreState& state, const Decision& decision, TimeMs now) {
  state.clock = std::max(state.clock, now);
  std::visit(ApplyDecision(state, state.clock), decision);
}

void Scheduler::apply(const Input& input, TimeMs now) {
  apply_input(*state_, input, now);
}

void Scheduler::apply(const Decision& decision, TimeMs now) {
  apply_decision(*state_, decision, now);
}

}  // namespace tangram

// observe: what exists is booked, whatever anybody decided. And the other steps of jobs of several parts.
#include <algorithm>

#include "base/invariant.h"
#include "scheduler/place.h"
#include "scheduler/steps.h"

namespace tangram {
namespace {

Handle add_known(CoreState& state, const JobSpec& spec, const std::vector<Part>& parts, TimeMs now) {
  JobRecord record;
  record.spec = spec;
  record.spec.request = request_of(parts, state.parts.use(parts));
  record.submitted_at = record.queued_at = now;
  state.next_job = std::max(state.next_job, spec.id.value + 1);
  return state.queue.add_job(record);
}

class ApplyStep {
 public:
  ApplyStep(CoreState& state, TimeMs now) : state_(state), now_(now) {}

  void operator()(const PartsSubmitted& submitted) { apply_submitted(state_, submitted, now_); }
  void operator()(const JobPlaced& placed) { apply_placed(state_, placed, now_); }
  void operator()(const PlaceDropped& dropped) { apply_dropped(state_, dropped); }
  void operator()(const PartsObserved& observed) { apply_observed(state_, observed, now_); }

 private:
  CoreState& state_;
  TimeMs now_;
};

}  // namespace

void apply_submitted(CoreState& state, const PartsSubmitted& submitted, TimeMs now) {
  const Handle job = add_known(state, submitted.spec, submitted.parts, now);
  state.tenants.count_jobs(submitted.spec.tenant, +1, +1);
  enqueue(state, job);
}

void apply_observed(CoreState& state, const PartsObserved& observed, TimeMs now) {
  const TenantId tenant = observed.spec.tenant;
  const std::optional<Handle> known = state.queue.find_job(observed.spec.id);
  const Handle handle = known ? *known : add_known(state, observed.spec, observed.parts, now);
  JobRecord& job = state.queue.job(handle);
  if (!known) {
    state.tenants.count_jobs(tenant, +1, 0);
  } else if (job.is_queued()) {
    leave_queue(state, handle);
    state.tenants.count_jobs(tenant, 0, -1);
  }
  TG_ASSERT(!has_place(job), "what is observed has no place in the book yet");
  state.tenants.refund(tenant, job.charge);
  job.charge = observed.places.empty() ? admission_charge(state, job.spec)
                                       : charge_of_places(state, job.spec, observed.parts, observed.places);
  job.over_limit = state.tenants.first_block(tenant, job.charge).has_value();
  state.tenants.charge(tenant, job.charge);
  job.attempt = std::max(job.attempt, observed.attempt);
  job.started_at = now;
  job.state = JobState::kWaiting;
  if (observed.places.empty()) return;
  job.state = observed.running ? JobState::kRunning : JobState::kStarting;
  hold(state, handle, observed.places, false);
}

void Scheduler::apply(const Step& step, TimeMs now) {
  state_->clock = std::max(state_->clock, now);
  std::visit(ApplyStep(*state_, state_->clock), step);
}

}  // namespace tangram

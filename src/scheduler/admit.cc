// admit: who may have what it asks for, by quota and order alone. Where it is placed is somebody else's
// choice, and may come at any time later.
#include "base/invariant.h"
#include "scheduler/steps.h"

namespace tangram {
namespace {

class ApplyAdmission {
 public:
  ApplyAdmission(CoreState& state, TimeMs now) : state_(state), now_(now) {}

  void operator()(const JobAdmitted& admitted) {
    const Handle handle = state_.queue.known_job(admitted.job);
    JobRecord& job = state_.queue.job(handle);
    TG_ASSERT(job.is_queued() && admitted.attempt == job.attempt + 1,
              "a queued job is admitted to its next attempt");
    leave_queue(state_, handle);
    job.charge = to_amounts(admitted.charge);
    job.state = JobState::kWaiting;
    job.attempt = admitted.attempt;
    job.started_at = now_;
    state_.tenants.charge(job.spec.tenant, job.charge);
    state_.tenants.count_jobs(job.spec.tenant, 0, -1);
  }

  void operator()(const JobWaits& waits) { apply_decision(state_, waits, now_); }

  void operator()(const JobRefused& refused) { apply_decision(state_, refused, now_); }

 private:
  CoreState& state_;
  TimeMs now_;
};

}  // namespace

void apply_admission(CoreState& state, const Admission& admission, TimeMs now) {
  state.clock = std::max(state.clock, now);
  std::visit(ApplyAdmission(state, state.clock), admission);
}

std::vector<Admission> Scheduler::admit(TimeMs now, std::size_t limit) const {
  state_->decided_at = std::max(state_->decided_at, now);
  if (!state_->settings.places_elsewhere) return {};
  return admit_on(*state_, now, limit);
}

void Scheduler::apply(const Admission& admission, TimeMs now) {
  apply_admission(*state_, admission, now);
}

}  // namespace tangram

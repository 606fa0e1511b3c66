#include "scheduler/replay.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/invariant.h"
#include "scheduler/judge.h"
#include "scheduler/steps.h"

namespace tangram {

TimeMs latest_end(const JobRecord& job) {
  if (job.spec.time_limit_ms >= kUnlimited || job.is_unplaced()) return TimeMs::never();
  return TimeMs(job.started_at.value + job.spec.time_limit_ms);
}

std::vector<Handle> active_by_end(const CoreState& state) {
  std::vector<std::tuple<TimeMs, JobId, Handle>> order;
  if (state.settings.places_elsewhere) {
    for (const Handle handle : state.queue.jobs()) {
      const JobRecord& job = state.queue.job(handle);
      if (!job.is_queued()) order.emplace_back(latest_end(job), job.spec.id, handle);
    }
  }
  for (std::uint32_t i = 0; i < state.fleet.npu_count() && !state.settings.places_elsewhere; ++i) {
    const auto add = [&](JobId id) {
      const Handle handle = state.queue.known_job(id);
      const JobRecord& job = state.queue.job(handle);
      if (job.first_npu == NpuIndex(i)) order.emplace_back(latest_end(job), id, handle);
    };
    const Fleet::Npu& npu = state.fleet.npu(NpuIndex(i));
    if (npu.job.valid()) add(npu.job);
    for (const Fleet::Slice& slice : npu.slices) add(slice.job);
  }
  std::sort(order.begin(), order.end());
  std::vector<Handle> active;
  active.reserve(order.size());
  for (const auto& [end, id, handle] : order) active.push_back(handle);
  return active;
}

bool Replay::starts_now() {
  return judge_in_turn(state_, now_, job_).outcome == Verdict::Outcome::kStart;
}

bool Replay::starts_if_ended(std::span<const JobId> jobs) {
  if (jobs.empty() || !has_question()) return false;
  std::vector<JobId> sorted(jobs.begin(), jobs.end());
  std::sort(sorted.begin(), sorted.end());
  // One with several slices of an NPU is named with each of them, by who looks for room: here none is asked
  // for.
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
  struct Held {
    Handle job = kNoHandle;
    std::vector<NpuIndex> npus;
    std::optional<SlicePlacement> slice;
  };
  std::vector<Held> ended;
  const bool places = !state_.settings.places_elsewhere;  // otherwise no room is asked for, only quota
  for (const JobId id : jobs) {
    const Handle handle = state_.queue.known_job(id);
    const JobRecord& job = state_.queue.job(handle);
    TG_ASSERT(!job.is_queued(), "only a running job can end");
    state_.tenants.refund(job.spec.tenant, job.charge);
    if (!places) {
      ended.push_back({handle, {}, std::nullopt});
      continue;
    }
    ended.push_back({handle, state_.fleet.held_from(job.first_npu), slice_of(state_.fleet, job)});
    state_.fleet.release(id, job.first_npu);
  }
  const bool starts = starts_now();
  for (const Held& held : ended) {
    const JobRecord& job = state_.queue.job(held.job);
    if (places) take(state_.fleet, job.spec.id, held.npus, held.slice, false);
    state_.tenants.charge(job.spec.tenant, job.charge);
  }
  return starts;
}

bool Replay::starts_if_returned() {
  if (!has_question()) return false;
  const Fleet before = state_.fleet;
  for (std::uint32_t i = 0; i < before.node_count(); ++i) {
    NodeReported report;
    report.node = before.node_name(NodeIndex(i));
    for (const NpuIndex npu : before.npus_of(NodeIndex(i))) {
      if (before.npu(npu).report.health == Health::kAbsent) continue;
      report.npus.push_back(before.npu(npu).report);
      std::erase_if(report.npus.back().strays, [](const StraySlice& stray) { return stray.residual; });
    }
    state_.fleet.report(report);
  }
  const bool starts = starts_now();
  state_.fleet = before;
  return starts;
}

bool Replay::starts_with(const Request& request) {
  if (!has_question()) return false;
  const JobRecord before = state_.queue.job(job_);
  state_.queue.dequeue(job_);
  JobRecord& job = state_.queue.job(job_);
  const Handle previous = std::exchange(job.previous, kNoHandle);
  const Handle next = std::exchange(job.next, kNoHandle);
  job.spec.request = request;
  job.attempt = 1;  // a line of its own: it keeps its place, whoever waits in the other group
  enqueue(state_, job_);
  const Handle group = job.group;
  const bool starts = starts_now();
  state_.queue.dequeue(job_);
  state_.queue.drop_if_empty(group);
  job.spec.request = before.spec.request;
  job.attempt = before.attempt;
  job.previous = previous;
  job.next = next;
  state_.queue.undo_dequeue(job_, before.group);
  TG_ASSERT(state_.queue.job(job_).group == before.group, "the job is back where it was");
  return starts;
}

bool Replay::starts_with_limit(TenantId tenant, Dimension dimension, std::int64_t limit) {
  if (!has_question()) return false;
  const TenantSpec before = state_.tenants.spec(tenant);
  TenantSpec raised = before;
  raised.quota = with_limit(before.quota, dimension, limit);
  state_.tenants.put(tenant, raised);
  // As when the limit is really changed: all who wait below that tenant are judged anew.
  std::vector<std::pair<Handle, Parking>> reviewed;
  for (const Handle group : state_.queue.groups()) {
    const Group& waiting = state_.queue.group(group);
    if (waiting.parking.slot == Slot::kCapacity || !state_.tenants.is_below(waiting.key.tenant, tenant))
      continue;
    reviewed.emplace_back(group, waiting.parking);
    state_.queue.park(group, waiting.reason, Parking{});
  }
  const bool starts = starts_now();
  for (const auto& [group, parking] : reviewed) {
    state_.queue.park(group, state_.queue.group(group).reason, parking);
  }
  state_.tenants.put(tenant, before);
  TG_ASSERT(state_.tenants.spec(tenant) == before, "the quota is as it was");
  return starts;
}

std::optional<TimeMs> Replay::start_by_time_limits() {
  for (const Handle handle : active_by_end(state_)) expect_end(handle);
  const JobId wanted = state_.queue.job(job_).spec.id;
  for (int steps = 0; steps < kStepsMax && !ends_.empty(); ++steps) {
    const auto [end, id, handle] = ends_.top();
    ends_.pop();
    now_ = std::max(now_, end);
    apply_input(state_, AttemptEnded{id, state_.queue.job(handle).attempt, Outcome::kTimedOut, false}, now_);
    if (state_.settings.places_elsewhere ? admits_by_now(wanted) : starts_by_now(wanted)) return now_;
  }
  return std::nullopt;
}

void Replay::expect_end(Handle handle) {
  const JobRecord& job = state_.queue.job(handle);
  if (const TimeMs end = latest_end(job); end < TimeMs::never()) ends_.emplace(end, job.spec.id, handle);
}

bool Replay::starts_by_now(JobId wanted) {
  for (int rounds = 0; rounds < kStepsMax; ++rounds) {
    const std::vector<Decision> batch = decide_on(state_, now_, 64);
    if (batch.empty()) return false;
    for (const Decision& decision : batch) {
      apply_decision(state_, decision, now_);
      const JobStarted* started = std::get_if<JobStarted>(&decision);
      if (started == nullptr) continue;
      if (started->job == wanted) return true;
      expect_end(state_.queue.known_job(started->job));
    }
  }
  return false;
}

// Who is admitted meanwhile has no place yet, and so no end that could be waited for.
bool Replay::admits_by_now(JobId wanted) {
  for (int rounds = 0; rounds < kStepsMax; ++rounds) {
    const std::vector<Admission> batch = admit_on(state_, now_, 64);
    if (batch.empty()) return false;
    for (const Admission& admission : batch) {
      apply_admission(state_, admission, now_);
      const JobAdmitted* admitted = std::get_if<JobAdmitted>(&admission);
      if (admitted != nullptr && admitted->job == wanted) return true;
    }
  }
  return false;
}

}  // namespace tangram

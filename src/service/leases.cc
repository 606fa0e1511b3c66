#include "service/leases.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "service/submission.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

using std::chrono::milliseconds;

bool is_queued(const JobStatus& status) {
  return status.state == JobState::kReady || status.state == JobState::kWaiting;
}

std::optional<JobId> subject(const wire::JournalRecord& record) {
  if (const auto* started = std::get_if<JobStarted>(&record)) return started->job;
  if (const auto* running = std::get_if<AttemptRunning>(&record)) return running->job;
  if (const auto* cancelled = std::get_if<wire::JobCancelledRecord>(&record)) return cancelled->input.job;
  if (const auto* ended = std::get_if<wire::AttemptEndedRecord>(&record)) return ended->input.job;
  if (const auto* refused = std::get_if<JobRefused>(&record)) return refused->job;
  return std::nullopt;
}

}  // namespace

Leases::Leases(StateCell& cell, Writer& writer, Timer& timer, WorkerPool& notifier, Clock& clock,
               const Options& options)
    : cell_(cell),
      writer_(writer),
      timer_(timer),
      notifier_(notifier),
      clock_(clock),
      hold_grace_ms_(options.lease_grace_ms),
      stop_grace_ms_(options.grace_ms) {}

void Leases::recover() {
  const auto found = cell_.read([](const State& state) {
    std::vector<JobId> leases;
    for (const auto& [job, live] : state.live_jobs()) {
      if (live.program->kind == wire::JobKind::kLease) leases.push_back(job);
    }
    return leases;
  });
  const std::lock_guard lock(mutex_);
  for (const JobId job : found) {
    Entry& entry = entries_[job];
    begin_grace(job, entry,
                "its holder did not take it up again within " + format_duration_ms(hold_grace_ms_) +
                    " after the daemon was started");
    follow(job);
  }
  if (!found.empty()) log::info("leases wait for their holders: " + std::to_string(found.size()));
}

void Leases::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}

void Leases::on_records(std::span<const wire::JournalRecord> records) {
  const std::lock_guard lock(mutex_);
  bool reasons_changed = false;
  for (const wire::JournalRecord& record : records) {
    if (const auto* submitted = std::get_if<wire::JobSubmittedRecord>(&record)) {
      if (submitted->program.kind == wire::JobKind::kLease) entries_.try_emplace(submitted->input.spec.id);
      continue;
    }
    if (entries_.empty()) continue;
    // One that names a job speaks of all that are like it.
    reasons_changed = reasons_changed || std::holds_alternative<JobWaits>(record);
    if (const auto job = subject(record)) follow(*job);
  }
  if (!reasons_changed) return;
  for (const auto& [job, entry] : entries_) {
    if (entry.queued) tell(entry);
  }
}

void Leases::follow(JobId job) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  const auto status = cell_.read([job](const State& state) { return state.core().job(job); });
  tell(entry);
  if (!status) {
    cancel(entry.grace);
    cancel(entry.limit);
    entries_.erase(found);
    return;
  }
  if (is_queued(*status)) {
    // Its slice could not be cut: it waits again, and so does its time limit.
    if (!std::exchange(entry.queued, true) && !entry.stop) cancel(entry.limit);
    return;
  }
  if (std::exchange(entry.queued, false)) begin_limit(job, entry, *status);
  if (status->cancel_requested) begin_stop(job, entry, Outcome::kCancelled, "it was cancelled");
}

void Leases::begin_limit(JobId job, Entry& entry, const JobStatus& status) {
  const std::int64_t limit_ms = status.spec.time_limit_ms;
  if (limit_ms >= kUnlimited) return;
  const std::int64_t left_ms = status.started_at.value + limit_ms - clock_.now().value;
  entry.limit = timer_.after(milliseconds(std::max<std::int64_t>(left_ms, 0)), [this, job, limit_ms] {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(job);
    if (found == entries_.end()) return;
    begin_stop(job, found->second, Outcome::kTimedOut,
               "its time limit of " + format_duration_ms(limit_ms) + " is over");
  });
}

void Leases::begin_grace(JobId job, Entry& entry, const std::string& message) {
  cancel(entry.grace);
  entry.grace = timer_.after(milliseconds(hold_grace_ms_), [this, job, message] {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(job);
    if (found != entries_.end() && found->second.holder_number == 0) end(job, Outcome::kLost, message);
  });
}

void Leases::begin_stop(JobId job, Entry& entry, Outcome outcome, std::string message) {
  if (entry.stop) return;
  log::info("lease " + wire::format_job_id(job) + " is to be released: " + message);
  entry.stop = LeaseStop{outcome, message, TimeMs(clock_.now().value + stop_grace_ms_)};
  cancel(entry.limit);
  entry.limit = timer_.after(milliseconds(stop_grace_ms_),
                             [this, job, outcome, why = std::move(message)] { end(job, outcome, why); });
  tell(entry);
}

void Leases::on_lost(std::span<const LostJob> lost) {
  for (const LostJob& job : lost) {
    if (job.kind != wire::JobKind::kLease) continue;
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(job.job);
    if (found != entries_.end()) begin_stop(job.job, found->second, Outcome::kDeviceLost, job.why);
  }
}

std::uint64_t Leases::attach(JobId job, LeaseHolder holder) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(job);
  if (found == entries_.end()) return 0;
  Entry& entry = found->second;
  tell(entry);
  cancel(entry.grace);
  entry.holder = std::move(holder);
  entry.holder_number = next_number_++;
  return entry.holder_number;
}

void Leases::detach(JobId job, std::uint64_t number) {
  std::function<void()> dropped;  // destroyed outside the lock: it may own anything
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(job);
  if (frozen_ || found == entries_.end() || found->second.holder_number != number) return;
  Entry& entry = found->second;
  dropped = std::exchange(entry.holder.changed, nullptr);
  entry.holder_number = 0;
  if (entry.holder.certain) {
    end(job, Outcome::kLost, "its holder went away without releasing it");
  } else {
    begin_grace(job, entry,
                "its holder went away and did not come back within " + format_duration_ms(hold_grace_ms_));
  }
}

bool Leases::is_held_by(JobId job, std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(job);
  return found != entries_.end() && found->second.holder_number == number;
}

std::optional<LeaseStop> Leases::stop_of(JobId job) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(job);
  return found == entries_.end() ? std::nullopt : found->second.stop;
}

void Leases::tell(const Entry& entry) {
  if (entry.holder.changed) notifier_.post(entry.holder.changed);
}

void Leases::cancel(std::optional<Handle>& timer) {
  if (timer) timer_.cancel(*timer);
  timer.reset();
}

void Leases::end(JobId job, Outcome outcome, std::string message) {
  writer_.report({[job, outcome, why = std::move(message)](Transaction& transaction) {
                    record_lease_end(transaction, job, outcome, why, nullptr);
                  },
                  nullptr});
}

void record_lease_end(Transaction& transaction, JobId job, Outcome outcome, const std::string& message,
                      const Caller* by) {
  const auto status = transaction.state().core().job(job);
  if (!status) return;
  if (is_queued(*status)) {
    transaction.record(make_cancellation(job, message, by));
    return;
  }
  wire::AttemptEndedRecord record;
  record.input = {job, status->attempt, status->cancel_requested ? Outcome::kCancelled : outcome, false};
  record.message = message;
  transaction.record(std::move(record));
}

}  // namespace tangram::service

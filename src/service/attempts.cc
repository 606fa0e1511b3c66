#include "service/attempts.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "base/crash_point.h"
#include "base/log.h"
#include "service/environment.h"
#include "service/slices.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

// How long a job that found no room on the disk, or no memory, waits for its next try.
constexpr std::chrono::milliseconds kPreparePause{1000};
// How often that is told of one job, while the cause stays the same.
constexpr std::chrono::minutes kDelayToldPause{1};

AttemptKey key_of(JobId job, std::int32_t attempt) {
  return {wire::format_job_id(job), attempt};
}

std::string text_of(const AttemptKey& key) {
  return key.job + " attempt " + std::to_string(key.attempt);
}

std::optional<JobId> job_of(const AttemptKey& key) {
  if (!key.job.starts_with("j-")) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = key.job.data() + key.job.size();
  const auto [stop, problem] = std::from_chars(key.job.data() + 2, end, number);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return JobId(number);
}

// The job, if it has a program, this is its present attempt, and it starts or runs.
std::optional<JobStatus> active(const State& state, JobId job, std::int32_t attempt) {
  if (state.kind(job) != wire::JobKind::kProgram) return std::nullopt;
  auto status = state.core().job(job);
  if (!status || status->attempt != attempt) return std::nullopt;
  if (status->state != JobState::kStarting && status->state != JobState::kRunning) return std::nullopt;
  return status;
}

// Its slice is still to be cut, so nothing of the attempt exists.
bool is_being_cut(const State& state, JobId job) {
  const auto slice = state.slice_of(job);
  return slice && !state.slices().at(*slice).made;
}

std::vector<std::uint32_t> held_npus(const State& state, const JobStatus& status) {
  std::vector<std::uint32_t> ids;
  for (const NpuView& npu : state.core().npus()) {
    if (std::find(status.npus.begin(), status.npus.end(), npu.index) != status.npus.end()) {
      ids.push_back(npu.report.physical_id);
    }
  }
  return ids;
}

// The NPU and the id of the slice that the job's present attempt has been given.
std::optional<std::pair<std::uint32_t, std::uint32_t>> made_slice(const State& state, JobId job) {
  const auto id = state.slice_of(job);
  if (!id || !state.slices().at(*id).made) return std::nullopt;
  return std::pair(state.slices().at(*id).physical_id, *id);
}

// A look that could not read them says nothing.
bool is_gone(std::uint32_t physical_id, std::uint32_t id, const DeviceReadings& readings) {
  for (const DeviceNpu& npu : readings.npus) {
    if (npu.physical_id != physical_id || !npu.slicing.slices.valid) continue;
    const std::vector<DeviceSlice>& slices = npu.slicing.slices.value;
    return std::none_of(slices.begin(), slices.end(),
                        [id](const DeviceSlice& slice) { return slice.id == id; });
  }
  return false;
}

AttemptExit ending(const AttemptKey& key, Outcome outcome, std::string message) {
  AttemptExit exit;
  exit.key = key;
  exit.outcome = outcome;
  exit.message = std::move(message);
  return exit;
}

// The user's primary group where the host knows the user; a group that only happens to have the same number
// (docker, disk) may carry rights. A lookup may ask a directory service: never under a lock.
gid_t primary_group(uid_t uid) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return error == 0 && found != nullptr ? found->pw_gid : uid;
}

// The machine lacks something or is too slow at this moment; the job has no part in it.
bool may_pass(const Error& error) {
  return error.code == Code::kResourceExhausted || error.code == Code::kDeadlineExceeded ||
         error.code == Code::kAborted;
}

std::optional<std::int64_t> widen(const std::optional<int>& value) {
  if (!value) return std::nullopt;
  return *value;
}

}  // namespace

Attempts::Attempts(Executor& executor, StateCell& cell, Writer& writer, DeviceWatch& watch, Timer& timer,
                   const Options& options)
    : executor_(executor),
      cell_(cell),
      writer_(writer),
      watch_(watch),
      timer_(timer),
      options_(options),
      pool_(options.pace.threads ? options.effect_threads : 0),
      removals_(options.pace.threads ? 1 : 0),
      gate_(std::make_shared<Gate>()) {
  gate_->target = this;
}

Result<void> Attempts::recover() {
  struct Found {
    AttemptKey key;
    std::optional<SupervisorIdentity> identity;
    bool cancel_requested = false;
    bool is_being_cut = false;
    JobId job;
  };
  const auto found = cell_.read([](const State& state) {
    std::vector<Found> jobs;
    for (const JobId job : state.core().active()) {
      if (state.kind(job) != wire::JobKind::kProgram) continue;
      const auto status = state.core().job(job);
      const LiveJob* live = state.live(job);
      jobs.push_back({key_of(job, status->attempt), live != nullptr ? live->supervisor : std::nullopt,
                      status->cancel_requested, is_being_cut(state, job), job});
    }
    return jobs;
  });
  ExecutorSink sink;
  sink.running = [gate = gate_](const AttemptKey& key) {
    const std::lock_guard lock(gate->mutex);
    if (gate->target != nullptr) gate->target->on_running(key);
  };
  sink.exited = [gate = gate_](const AttemptExit& exit) {
    const std::lock_guard lock(gate->mutex);
    if (gate->target != nullptr) gate->target->on_exited(exit);
  };
  TG_TRY_VOID(executor_.start(std::move(sink)));
  TG_TRY_VOID(set_aside_unknown());
  for (const Found& job : found) {
    if (job.is_being_cut) {
      if (job.cancel_requested) end_uncut(job.job);
      continue;
    }
    TG_CRASH_POINT("service.before_adopt");
    adopt(job.key, job.identity);
    if (!job.cancel_requested) continue;
    if (const auto stopped = executor_.stop(job.key, StopReason::kCancelled); !stopped) {
      log::info("not stopped: " + text_of(job.key) + ": " + stopped.error().to_string());
    }
  }
  if (!found.empty()) log::info("attempts of before looked after again: " + std::to_string(found.size()));
  return {};
}

// The start of an attempt is durable before anything of it exists. One that the journal does not know shows
// that the journal is older than the machine: put back from a backup, or damaged. What lives of it holds NPUs
// and a name that are about to be given again.
Result<void> Attempts::set_aside_unknown() {
  TG_TRY(const std::vector<AttemptKey> keys, executor_.attempts_on_disk());
  for (const AttemptKey& key : keys) {
    const auto job = job_of(key);
    if (!job) continue;
    const bool known = cell_.read([&](const State& state) {
      if (const auto status = state.core().job(*job)) return key.attempt <= status->attempt;
      const auto ended = state.ended(*job);
      return ended != nullptr && key.attempt <= ended->status.attempt;
    });
    if (known) continue;
    log::warn(text_of(key) + " is not in the journal, which must be older: it is ended and set aside");
    TG_TRY_VOID(executor_.set_aside(key));
  }
  return {};
}

void Attempts::stop() {
  {
    const std::lock_guard lock(gate_->mutex);
    gate_->target = nullptr;
  }
  pool_.stop();
  removals_.stop();
}

void Attempts::adopt(const AttemptKey& key, const std::optional<SupervisorIdentity>& identity) {
  const auto adopted = executor_.adopt(key, identity);
  if (adopted) return;
  log::warn(text_of(key) + " cannot be found again: " + adopted.error().to_string());
  // Without a supervisor in the journal there was no `go`.
  const Outcome outcome = identity ? Outcome::kLost : Outcome::kNotStarted;
  report_end(ending(key, outcome, "lost while the daemon was away: " + adopted.error().message));
}

void Attempts::on_records(std::span<const wire::JournalRecord> records) {
  for (const wire::JournalRecord& record : records) {
    if (const auto* started = std::get_if<JobStarted>(&record)) {
      if (started->slice) continue;  // not before it is cut
      pool_.post([this, job = started->job, attempt = started->attempt] { launch(job, attempt); });
    } else if (const auto* made = std::get_if<wire::SliceMade>(&record)) {
      pool_.post([this, job = made->job, attempt = made->attempt] { launch(job, attempt); });
    } else if (const auto* prepared = std::get_if<wire::AttemptPrepared>(&record)) {
      pool_.post([this, job = prepared->job, attempt = prepared->attempt] { release(job, attempt); });
    } else if (const auto* cancelled = std::get_if<wire::JobCancelledRecord>(&record)) {
      pool_.post([this, job = cancelled->input.job] { stop_cancelled(job); });
    } else if (const auto* ended = std::get_if<wire::AttemptEndedRecord>(&record)) {
      const std::lock_guard lock(mutex_);
      stopped_.erase(key_of(ended->input.job, ended->input.attempt));
      delays_.erase(key_of(ended->input.job, ended->input.attempt));
    }
  }
}

void Attempts::launch(JobId job, std::int32_t attempt) {
  bool cancelled = false;
  auto spec = cell_.read([&](const State& state) -> std::optional<LaunchSpec> {
    const auto status = active(state, job, attempt);
    if (!status) return std::nullopt;
    cancelled = status->cancel_requested;
    if (is_being_cut(state, job)) return std::nullopt;
    return make_launch(state, options_, executor_.gives_private_devices(), job);
  });
  if (!spec) return;
  if (cancelled) {
    report_end(ending(spec->key, Outcome::kCancelled, "cancelled before it started"));
    return;
  }
  if (options_.own_uid == 0) spec->gid = primary_group(spec->uid);
  TG_CRASH_POINT("service.before_prepare");
  auto prepared = executor_.prepare(*spec);
  TG_CRASH_POINT("service.after_prepare");
  if (!prepared && may_pass(prepared.error())) {
    tell_delay(spec->key, prepared.error().to_string());
    timer_.after(kPreparePause,
                 [this, job, attempt] { pool_.post([this, job, attempt] { launch(job, attempt); }); });
    return;
  }
  if (!prepared) {
    log::warn("not started: " + text_of(spec->key) + ": " + prepared.error().to_string());
    on_exited(ending(spec->key, Outcome::kNotStarted, prepared.error().to_string()));
    return;
  }
  report_prepared(job, attempt, std::move(prepared).value());
}

void Attempts::tell_delay(const AttemptKey& key, const std::string& why) {
  const Pace::Time now = options_.pace.now();
  {
    const std::lock_guard lock(mutex_);
    Delay& delay = delays_[key];
    if (delay.why == why && now < delay.told + kDelayToldPause) return;
    delay = {why, now};
  }
  log::warn("not started yet: " + text_of(key) + ": " + why);
}

void Attempts::report_prepared(JobId job, std::int32_t attempt, SupervisorIdentity supervisor) {
  writer_.report({[job, attempt, supervisor = std::move(supervisor)](Transaction& transaction) {
                    if (!active(transaction.state(), job, attempt)) return;
                    transaction.record(wire::AttemptPrepared{job, attempt, supervisor});
                  },
                  nullptr});
}

void Attempts::release(JobId job, std::int32_t attempt) {
  const auto status = cell_.read([&](const State& state) { return active(state, job, attempt); });
  if (!status) return;
  const AttemptKey key = key_of(job, attempt);
  if (status->cancel_requested) {
    if (const auto stopped = executor_.stop(key, StopReason::kCancelled); !stopped) {
      log::info("not stopped: " + text_of(key) + ": " + stopped.error().to_string());
    }
    return;
  }
  TG_CRASH_POINT("service.before_go");
  const auto gone = executor_.go(key);
  TG_CRASH_POINT("service.after_go");
  if (gone) return;
  // Its supervisor went away in between: what became of it comes as an event.
  log::warn(text_of(key) + " got no go: " + gone.error().to_string());
  const auto identity = cell_.read([&](const State& state) {
    const LiveJob* live = state.live(job);
    return live != nullptr ? live->supervisor : std::nullopt;
  });
  adopt(key, identity);
}

void Attempts::stop_cancelled(JobId job) {
  bool is_uncut = false;
  const auto key = cell_.read([&](const State& state) -> std::optional<AttemptKey> {
    const auto status = state.core().job(job);
    if (!status || !active(state, job, status->attempt)) return std::nullopt;
    is_uncut = is_being_cut(state, job);
    return key_of(job, status->attempt);
  });
  if (!key) return;
  TG_CRASH_POINT("service.before_stop");
  if (is_uncut) {
    end_uncut(job);
    return;
  }
  // One that is not prepared yet is stopped by release() or launch(), which see the cancellation.
  if (const auto stopped = executor_.stop(*key, StopReason::kCancelled); !stopped) {
    log::debug("not stopped yet: " + text_of(*key) + ": " + stopped.error().to_string());
  }
}

// A cut may take seconds: nobody waits for it. What it makes goes back.
void Attempts::end_uncut(JobId job) {
  writer_.report({[job](Transaction& transaction) {
                    const State& state = transaction.state();
                    const auto status = state.core().job(job);
                    // One whose slice has come in between is ended by launch().
                    if (!status || !status->cancel_requested || !is_being_cut(state, job)) return;
                    wire::AttemptEndedRecord record;
                    record.input = {job, status->attempt, Outcome::kCancelled, false};
                    record.message = "cancelled before it started";
                    transaction.record(std::move(record));
                  },
                  nullptr});
}

void Attempts::on_lost(std::span<const LostJob> lost) {
  for (const LostJob& job : lost) {
    if (job.kind != wire::JobKind::kProgram) continue;
    const AttemptKey key = key_of(job.job, job.attempt);
    const std::lock_guard lock(mutex_);
    if (!stopped_.emplace(key, job.why).second) continue;
    log::warn(key.job + " is stopped: " + job.why);
    pool_.post([this, key] { stop_lost(key); });
  }
}

void Attempts::stop_lost(const AttemptKey& key) {
  if (executor_.stop(key, StopReason::kDeviceLost)) return;
  // Not prepared yet, or ending: the next look tries again if it still holds the NPU.
  const std::lock_guard lock(mutex_);
  stopped_.erase(key);
}

void Attempts::on_running(const AttemptKey& key) {
  const auto job = job_of(key);
  if (!job) return;
  writer_.report({[job = *job, attempt = key.attempt](Transaction& transaction) {
                    const auto status = active(transaction.state(), job, attempt);
                    if (!status || status->state != JobState::kStarting) return;
                    transaction.record(AttemptRunning{job, attempt});
                  },
                  nullptr});
}

void Attempts::on_exited(const AttemptExit& exit) {
  const bool at_fault =
      exit.outcome == Outcome::kFailed || (exit.outcome == Outcome::kNotStarted && exit.released);
  if (!at_fault) {
    report_end(exit);
    return;
  }
  // A program fails, or cannot be started, when its device goes away, and is the first to know: look before
  // it is blamed.
  const auto once = std::make_shared<std::atomic<bool>>(false);
  timer_.after(std::chrono::milliseconds(options_.failure_scan_wait_ms), [this, exit, once] {
    if (!once->exchange(true)) classify(exit, watch_.last());
  });
  watch_.look_soon([this, exit, once](const DeviceLook& look) {
    if (!once->exchange(true)) classify(exit, look);
  });
}

void Attempts::classify(AttemptExit exit, const DeviceLook& look) {
  const auto job = job_of(exit.key);
  if (!job) return;
  const auto npus = cell_.read([&](const State& state) {
    const auto status = active(state, *job, exit.key.attempt);
    return status ? held_npus(state, *status) : std::vector<std::uint32_t>();
  });
  for (const std::uint32_t id : npus) {
    const auto found = look.losses.find(id);
    if (found == look.losses.end() || !found->second.lost) continue;
    exit.outcome = Outcome::kDeviceLost;
    exit.message = found->second.why + (exit.message.empty() ? "" : "; " + exit.message);
    break;
  }
  const auto slice = cell_.read([&](const State& state) { return made_slice(state, *job); });
  if (slice && exit.outcome != Outcome::kDeviceLost && is_gone(slice->first, slice->second, look.readings)) {
    exit.outcome = Outcome::kDeviceLost;
    exit.message =
        slice_gone_text(slice->second, slice->first) + (exit.message.empty() ? "" : "; " + exit.message);
  }
  report_end(exit);
}

void Attempts::report_end(const AttemptExit& exit) {
  const auto job = job_of(exit.key);
  if (!job) {
    log::warn("the executor speaks of an attempt that is none of ours: " + exit.key.job);
    return;
  }
  wire::AttemptEndedRecord record;
  record.input = AttemptEnded{*job, exit.key.attempt, exit.outcome, false};
  record.exit_status = widen(exit.exit_status);
  record.signal = widen(exit.signal);
  record.message = exit.message;
  record.out_of_memory = exit.out_of_memory;
  const bool never_released = exit.outcome == Outcome::kNotStarted && !exit.released;
  {
    const std::lock_guard lock(mutex_);
    const auto stopped = stopped_.find(exit.key);
    if (exit.outcome == Outcome::kDeviceLost && stopped != stopped_.end()) record.message = stopped->second;
  }
  writer_.report({[record, never_released](Transaction& transaction) {
                    const JobId id = record.input.job;
                    const auto status = active(transaction.state(), id, record.input.attempt);
                    if (!status) return;
                    TG_CRASH_POINT("service.before_exit_record");
                    wire::AttemptEndedRecord decided = record;
                    if (never_released && status->cancel_requested) {
                      decided.input.outcome = Outcome::kCancelled;
                      decided.message = "cancelled before it started";
                    }
                    decided.input.requeue =
                        never_released ? !status->cancel_requested
                                       : transaction.state().core().restarts_after(id, record.input.outcome);
                    transaction.record(std::move(decided));
                  },
                  [](const Result<void>& durable) {
                    if (durable) TG_CRASH_POINT("service.after_exit_record");
                  }});
}

void Attempts::forget(JobId job, std::int32_t attempts) {
  {
    const std::lock_guard lock(mutex_);
    if (!forgetting_.insert(job).second) return;
  }
  removals_.post([this, job, attempts] {
    for (std::int32_t attempt = 1; attempt <= attempts; ++attempt) {
      const auto removed = executor_.remove(key_of(job, attempt));
      // An attempt that was never prepared left nothing behind.
      if (!removed && removed.error().code != Code::kNotFound) {
        log::warn(text_of(key_of(job, attempt)) + " is not removed: " + removed.error().to_string());
      }
    }
    TG_CRASH_POINT("service.before_forgotten");
    {
      const std::lock_guard lock(mutex_);
      forgetting_.erase(job);
    }
    writer_.report({[job](Transaction& transaction) {
                      if (transaction.state().ended(job)) transaction.record(wire::JobForgotten{job});
                    },
                    nullptr});
  });
}

}  // namespace tangram::service

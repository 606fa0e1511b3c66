#include "service/slices.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "service/device_use.h"
#include "service/node_report.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPauseFirst{1'000};
constexpr milliseconds kPauseMost{10'000};
constexpr int kDoublingsMost = 4;

std::string slice_text(std::uint32_t id, std::uint32_t physical_id) {
  return "slice " + std::to_string(id) + " of NPU " + std::to_string(physical_id);
}

// The state's entry for what the keeper speaks of; null: it is another's, or forgotten.
const SliceEntry* entry_of(const State& state, const OwnSlice& slice) {
  const auto found = state.slices().find(slice.id);
  if (found == state.slices().end()) return nullptr;
  const SliceEntry& entry = found->second;
  const bool same =
      wire::format_job_id(entry.job) == slice.attempt.job && entry.attempt == slice.attempt.attempt;
  return same ? &entry : nullptr;
}

OwnSlice own_slice(std::uint32_t id, const SliceEntry& entry) {
  OwnSlice slice;
  slice.attempt = {wire::format_job_id(entry.job), entry.attempt};
  slice.physical_id = entry.physical_id;
  slice.id = id;
  slice.template_name = entry.template_name;
  slice.vgroup = entry.vgroup;
  slice.state = entry.ended  ? BookedSlice::State::kEnded
                : entry.made ? BookedSlice::State::kHeld
                             : BookedSlice::State::kOrdered;
  return slice;
}

SliceQuestions questions_for(const Executor& executor) {
  SliceQuestions questions;
  questions.may_live = [&executor](const AttemptKey& key) { return executor.may_live(key); };
  questions.own_processes = [&executor](const DeviceScan& scan) -> std::optional<std::set<std::int64_t>> {
    const auto owners = find_owners(executor, scan.npus);
    if (!owners) return std::nullopt;
    std::set<std::int64_t> pids;
    for (const auto& [pid, owner] : *owners) pids.insert(pid);
    return pids;
  };
  return questions;
}

}  // namespace

std::string slice_gone_text(std::uint32_t id, std::uint32_t physical_id) {
  return slice_text(id, physical_id) + " is gone";
}

Slices::Slices(Devices& devices, const Executor& executor, StateCell& cell, Writer& writer, Timer& timer,
               const Options& options, std::function<void()> look_soon)
    : cell_(cell),
      writer_(writer),
      timer_(timer),
      pace_(options.pace),
      look_soon_(std::move(look_soon)),
      refusals_(milliseconds(options.slice_policy.retry_refused_ms),
                milliseconds(options.slice_policy.retry_refused_ms_max)),
      keeper_(devices, questions_for(executor),
              {[this](const SliceEvent& event) { on_event(event); }, nullptr}, options.slice_policy,
              options.pace) {}

void Slices::start() {
  const auto entries = cell_.read([](const State& state) {
    std::vector<OwnSlice> all;
    for (const auto& [id, entry] : state.slices()) all.push_back(own_slice(id, entry));
    return all;
  });
  if (!entries.empty()) log::info("slices of before looked after again: " + std::to_string(entries.size()));
  keeper_.start(entries);
}

void Slices::stop() {
  keeper_.stop();
}

void Slices::on_records(std::span<const wire::JournalRecord> records) {
  for (const wire::JournalRecord& record : records) {
    if (const auto* ordered = std::get_if<wire::SliceOrdered>(&record)) {
      keeper_.make({{wire::format_job_id(ordered->job), ordered->attempt},
                    ordered->npu,
                    ordered->slice,
                    ordered->template_name,
                    BookedSlice::State::kOrdered,
                    ordered->vgroup});
    } else if (const auto* ended = std::get_if<wire::AttemptEndedRecord>(&record)) {
      const auto ids = cell_.read([ended](const State& state) {
        std::vector<std::uint32_t> found;
        for (const auto& [id, entry] : state.slices()) {
          if (entry.job == ended->input.job && entry.attempt == ended->input.attempt) found.push_back(id);
        }
        return found;
      });
      for (const std::uint32_t id : ids) {
        {
          const std::lock_guard lock(mutex_);
          lost_.erase(id);
        }
        keeper_.give_back(id);
      }
    }
  }
}

std::set<std::uint32_t> Slices::returned_since(Pace::Time began) {
  const std::lock_guard lock(mutex_);
  // Looks come in their order.
  std::erase_if(returned_, [began](const auto& one) { return one.second < began; });
  std::set<std::uint32_t> ids;
  for (const auto& [id, at] : returned_) ids.insert(id);
  return ids;
}

void Slices::look(LookStart began, DeviceScan scan) {
  {
    const std::lock_guard lock(mutex_);
    refusals_.looked(scan);
  }
  keeper_.look(began, std::move(scan));
}

StandingRefusals Slices::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_.standing(pace_.now());
}

std::optional<CutRefusal> Slices::unusable_file() const {
  const std::lock_guard lock(mutex_);
  return refusals_.unusable_file(pace_.now());
}

std::map<std::uint32_t, std::uint32_t> Slices::resting() const {
  const std::lock_guard lock(mutex_);
  return resting_;
}

std::vector<LostJob> Slices::lost() const {
  std::map<std::uint32_t, std::string> lost;
  {
    const std::lock_guard lock(mutex_);
    lost = lost_;
  }
  if (lost.empty()) return {};
  return cell_.read([&lost](const State& state) {
    std::vector<LostJob> jobs;
    for (const auto& [id, why] : lost) {
      const auto found = state.slices().find(id);
      if (found == state.slices().end() || found->second.ended) continue;
      const SliceEntry& entry = found->second;
      jobs.push_back({entry.job, entry.attempt, state.kind(entry.job), why});
    }
    return jobs;
  });
}

void Slices::on_event(const SliceEvent& event) {
  const OwnSlice& slice = event.slice;
  switch (event.kind) {
    case SliceEvent::Kind::kMade:
      made(slice);
      return;
    case SliceEvent::Kind::kNotMade:
      not_made(slice, event.error.value_or(Error{}), event.nothing_there);
      return;
    case SliceEvent::Kind::kLost: {
      const std::string why = slice_gone_text(slice.id, slice.physical_id);
      log::warn(why);
      const std::lock_guard lock(mutex_);
      lost_[slice.id] = why;
      return;
    }
    case SliceEvent::Kind::kReturned:
      returned(slice);
      return;
  }
}

void Slices::made(const OwnSlice& slice) {
  {
    const std::lock_guard lock(mutex_);
    failures_.erase(slice.physical_id);
    refusals_.made(slice.physical_id);
  }
  writer_.report({[slice](Transaction& transaction) {
                    const SliceEntry* found = entry_of(transaction.state(), slice);
                    if (found == nullptr || found->made || found->ended) return;
                    const SliceEntry entry = *found;
                    transaction.record(wire::SliceMade{entry.job, entry.attempt, slice.id});
                    // Nothing has to be started for a lease.
                    if (transaction.state().kind(entry.job) == wire::JobKind::kLease) {
                      transaction.record(AttemptRunning{entry.job, entry.attempt});
                    }
                  },
                  nullptr});
}

void Slices::not_made(const OwnSlice& slice, const Error& error, bool nothing_there) {
  log::warn(slice_text(slice.id, slice.physical_id) + " could not be cut for " + slice.attempt.job + ": " +
            error.to_string());
  const int failures = count_failure(slice);
  const bool given_up = give_up_cutting(slice, error, failures);
  if (!given_up) rest(slice, failures);
  writer_.report({[this, slice, nothing_there, given_up,
                   message = "its slice could not be cut: " + error.message](Transaction& transaction) {
                    const SliceEntry* found = entry_of(transaction.state(), slice);
                    if (found == nullptr || found->made || found->ended) return;
                    const SliceEntry entry = *found;
                    const auto status = transaction.state().core().job(entry.job);
                    if (!status) return;
                    wire::AttemptEndedRecord record;
                    record.input = {entry.job, entry.attempt, Outcome::kNotStarted,
                                    !status->cancel_requested};
                    record.message = message;
                    if (status->cancel_requested) {
                      record.input.outcome = Outcome::kCancelled;
                      record.message = "cancelled before it started";
                    }
                    transaction.record(std::move(record));
                    // In one group: an entry that stood would be taken for a leftover of ours by the next
                    // daemon, and a slice of its id, which is somebody else's, be destroyed.
                    if (nothing_there) record_return(transaction, entry, slice.id);
                    // And before the core decides again: the job would be given the same NPU.
                    if (!given_up) return;
                    if (auto report = report_not_cut(transaction.state(), entry.npu))
                      transaction.record(*std::move(report));
                  },
                  nullptr});
}

// Of orders that were under way together, the first counts.
int Slices::count_failure(const OwnSlice& slice) {
  const std::lock_guard lock(mutex_);
  int& failures = failures_[slice.physical_id];
  const bool rests =
      std::ranges::any_of(resting_, [&slice](const auto& one) { return one.second == slice.physical_id; });
  if (!rests || failures == 0) ++failures;
  return failures;
}

bool Slices::give_up_cutting(const OwnSlice& slice, const Error& error, int failures) {
  std::optional<milliseconds> pause;
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    const Pace::Time now = pace_.now();
    is_news = !refusals_.standing(now).contains(slice.physical_id);
    pause = refusals_.refused(slice.physical_id, error, failures, now);
  }
  if (!pause) return false;
  if (!is_news) return true;
  log::warn("NPU " + std::to_string(slice.physical_id) + " is not cut any more: " + error.message +
            "; tried again in " + std::to_string(pause->count() / 1'000) +
            " s, and at once with another driver, board or mode, with the driver's file mended, or after a "
            "restart");
  timer_.after(*pause, [this] { look_soon_(); });
  return true;
}

void Slices::rest(const OwnSlice& slice, int failures) {
  const milliseconds pause =
      std::min(kPauseMost, kPauseFirst * (1 << std::min(failures - 1, kDoublingsMost)));
  {
    const std::lock_guard lock(mutex_);
    resting_[slice.id] = slice.physical_id;
  }
  timer_.after(pause, [this, id = slice.id] {
    {
      const std::lock_guard lock(mutex_);
      resting_.erase(id);
    }
    look_soon_();
  });
}

void Slices::returned(const OwnSlice& slice) {
  writer_.report({[this, slice](Transaction& transaction) {
                    const SliceEntry* entry = entry_of(transaction.state(), slice);
                    if (entry != nullptr && entry->ended) record_return(transaction, *entry, slice.id);
                  },
                  nullptr});
}

void Slices::record_return(Transaction& transaction, const SliceEntry& entry, std::uint32_t id) {
  const NpuIndex npu = entry.npu;
  {
    const std::lock_guard lock(mutex_);
    lost_.erase(id);
    returned_[id] = pace_.now();
  }
  transaction.record(wire::SliceReturned{entry.job, entry.attempt, id});
  if (!resting().contains(id)) return;
  if (auto report = report_resting(transaction.state(), npu, id)) transaction.record(*std::move(report));
}

}  // namespace tangram::service

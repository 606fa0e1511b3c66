#include "service/writer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/crash_point.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/thread.h"
#include "service/node_report.h"
#include "service/recovery.h"
#include "service/slice_book.h"

namespace tangram::service {
namespace {

using std::chrono::steady_clock;

// A group closes when it has so many records, however many commands still wait.
constexpr std::size_t kGroupRecordsMax = 4'096;
// How long reports rest after an append that failed.
constexpr std::chrono::milliseconds kRetryPause{500};
constexpr std::int64_t kWakeupPauseMs = 20;
// Times beyond this are looked at again then.
constexpr std::int64_t kSleepMsMax = 3'600'000;

// The slice that is left behind, or goes, by this record.
std::optional<std::pair<NpuIndex, std::uint32_t>> slice_changed_by(const State& state,
                                                                   const wire::JournalRecord& record) {
  std::optional<std::uint32_t> id;
  if (const auto* ended = std::get_if<wire::AttemptEndedRecord>(&record))
    id = state.slice_of(ended->input.job);
  if (const auto* returned = std::get_if<wire::SliceReturned>(&record)) id = returned->slice;
  if (!id) return std::nullopt;
  return std::pair(state.slices().at(*id).npu, *id);
}

}  // namespace

void Transaction::record(wire::JournalRecord record) {
  const std::optional<std::pair<NpuIndex, std::uint32_t>> slice = slice_changed_by(state_, record);
  const auto* started = std::get_if<JobStarted>(&record);
  const std::optional<JobStarted> start = started != nullptr ? std::optional(*started) : std::nullopt;
  append(std::move(record));
  if (start && start->slice) order_slice(*start);
  if (!slice) return;
  if (auto report = report_slice(state_, slice->first, slice->second)) append(*std::move(report));
}

void Transaction::order_slice(const JobStarted& start) {
  const auto npu = state_.core().npu(start.npus.front());
  TG_ASSERT(npu.has_value() && start.slice.has_value(), "a slice is cut of an NPU that is known");
  std::set<std::uint32_t> taken;
  for (const auto& [id, entry] : state_.slices()) taken.insert(id);
  for (const StraySlice& stray : npu->report.strays) taken.insert(stray.id);
  const auto id = free_slice_id(npu->report.physical_id, taken);
  TG_ASSERT(id.has_value(), "an NPU with as many slices as ids is not cut");
  append(wire::SliceOrdered{start.job, start.attempt, npu->report.physical_id, *id,
                            start.slice->template_name, start.slice->vgroup});
}

void Transaction::append(wire::JournalRecord record) {
  const EventSubject before = look_before(state_, record);
  state_.apply(record, now_);
  events_.push_back(make_events(before, state_, record, sequence_ + records_.size() + 1, now_));
  records_.push_back(std::move(record));
}

void Transaction::decide() {
  for (auto batch = state_.core().decide(now_); !batch.empty(); batch = state_.core().decide(now_)) {
    for (const Decision& decision : batch) {
      std::visit([this](const auto& d) { record(d); }, decision);
      // Nothing has to be started for a lease: it runs as soon as it is given, and its slice is cut.
      const auto* started = std::get_if<JobStarted>(&decision);
      if (started != nullptr && !started->slice && state_.kind(started->job) == wire::JobKind::kLease) {
        record(AttemptRunning{started->job, started->attempt});
      }
    }
  }
}

Writer::Writer(Store& store, StateCell& cell, Clock& clock, const Options& options, Meters& meters,
               Effects effects, Publish publish)
    : store_(store),
      cell_(cell),
      clock_(clock),
      options_(options),
      meters_(meters),
      effects_(std::move(effects)),
      publish_(std::move(publish)),
      encoder_(options_.pace.threads ? 1 : 0) {}

Writer::~Writer() {
  stop();
}

Result<void> Writer::recover() {
  TG_ASSERT(!running_, "recover() after start()");
  TG_TRY(const std::shared_ptr<const Catalog> catalog, Catalog::with(options_.chips));
  TG_TRY(Recovered recovered, service::recover(store_, catalog));
  sequence_ = recovered.sequence;
  snapshot_sequence_ = recovered.snapshot_sequence;
  snapshot_begun_ = recovered.snapshot_sequence;
  snapshot_entries_ = recovered.snapshot_entries;
  meters_.last_sequence = sequence_;
  clock_.continue_from(recovered.state.last_time());
  working_ = recovered.state;
  cell_.replace(std::move(recovered.state));
  return {};
}

void Writer::start() {
  TG_ASSERT(!running_, "start() twice");
  running_ = true;
  if (options_.pace.threads) thread_ = std::thread([this] { run(); });
}

void Writer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  encoder_.stop();
}

Result<void> Writer::submit(Command command) {
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    return fail(Code::kUnavailable, "service.stopping", "the daemon is stopping",
                "try again when it is back");
  }
  if (commands_.size() >= options_.commands_max) {
    return fail(Code::kResourceExhausted, "service.busy",
                std::to_string(commands_.size()) + " requests wait for the daemon already",
                "try again in a moment");
  }
  command.arrived = steady_clock::now();
  commands_.push_back(std::move(command));
  changed_.notify_one();
  return {};
}

void Writer::report(Command command) {
  command.arrived = steady_clock::now();
  const std::lock_guard lock(mutex_);
  reports_.push_back(std::move(command));
  changed_.notify_one();
}

Writer::Backlog Writer::backlog() const {
  const auto now = steady_clock::now();
  const std::lock_guard lock(mutex_);
  Backlog backlog{commands_.size(), reports_.size(), std::chrono::nanoseconds(0)};
  const auto look_at = [&](steady_clock::time_point arrived) {
    backlog.oldest = std::max<std::chrono::nanoseconds>(backlog.oldest, now - arrived);
  };
  if (!commands_.empty()) look_at(commands_.front().arrived);
  if (!reports_.empty()) look_at(reports_.front().arrived);
  if (at_work_since_) look_at(*at_work_since_);
  return backlog;
}

void Writer::measure(const std::vector<Item>& items) const {
  const auto now = steady_clock::now();
  for (const Item& item : items) meters_.command.Observe(seconds(now - item.command.arrived));
}

void Writer::run() {
  // So that top(1) and profilers tell the thread that decides from those that serve.
  name_this_thread("writer");
  while (true) {
    std::vector<Item> items = take();
    if (items.empty()) {
      const std::lock_guard lock(mutex_);
      if (stopping_ && commands_.empty()) break;
    }
    process(std::move(items));
    save_encoded();
  }
  if (!store_failed_ && sequence_ != snapshot_sequence_) save({sequence_, working_.to_snapshot()});
}

bool Writer::step() {
  {
    const std::lock_guard lock(mutex_);
    const bool woken = wakeup_ != TimeMs::never() && wakeup_ <= clock_.now();
    if (!woken && !ready_locked()) return false;
  }
  process(take());
  save_encoded();
  return true;
}

bool Writer::ready_locked() const {
  return stopping_ || encoded_ || !commands_.empty() ||
         (!reports_.empty() && options_.pace.now() >= reports_rest_until_);
}

std::vector<Writer::Item> Writer::take() {
  std::unique_lock lock(mutex_);
  while (!ready_locked()) {
    auto until = steady_clock::time_point::max();
    if (wakeup_ != TimeMs::never()) {
      const std::int64_t delay = std::clamp<std::int64_t>(wakeup_.value - clock_.now().value, 0, kSleepMsMax);
      if (delay == 0) break;
      until = steady_clock::now() + std::chrono::milliseconds(delay);
    }
    if (!reports_.empty()) until = std::min(until, reports_rest_until_);
    if (until == steady_clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, until);
    }
  }
  std::vector<Item> items;
  if (options_.pace.now() >= reports_rest_until_) {
    while (!reports_.empty() && items.size() < options_.group_commands_max) {
      items.push_back({std::move(reports_.front()), true});
      reports_.pop_front();
    }
  }
  while (!commands_.empty() && items.size() < options_.group_commands_max) {
    items.push_back({std::move(commands_.front()), false});
    commands_.pop_front();
  }
  for (const Item& item : items) {
    at_work_since_ = std::min(at_work_since_.value_or(item.command.arrived), item.command.arrived);
  }
  return items;
}

void Writer::process(std::vector<Item> items) {
  const TimeMs now = std::max(clock_.now(), working_.last_time());
  const auto begin = steady_clock::now();
  Transaction transaction(working_, now, sequence_);
  std::size_t taken = 0;
  for (; taken < items.size() && transaction.records().size() < kGroupRecordsMax; ++taken) {
    items[taken].command.run(transaction);
  }
  if (taken < items.size()) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = items.size(); i > taken; --i) {
      Item& item = items[i - 1];
      (item.is_report ? reports_ : commands_).push_front(std::move(item.command));
    }
    items.resize(taken);
  }
  transaction.decide();
  meters_.decision.Observe(seconds(steady_clock::now() - begin));

  Result<std::vector<StoredEvent>> events = commit(transaction);
  if (!events) {
    roll_back(events.error(), std::move(items));
    return;
  }
  cell_.apply(transaction.records(), now);
  measure(items);
  if (!transaction.records().empty()) {
    TG_CRASH_POINT("service.after_append");
    publish_(std::move(*events), sequence_);
    effects_(transaction.records());
  }
  for (const Item& item : items) {
    if (item.command.done) item.command.done({});
  }
  if (snapshot_due()) begin_snapshot();
  const TimeMs wakeup = working_.core().next_wakeup();
  const std::lock_guard lock(mutex_);
  at_work_since_.reset();
  // A time that is over and changed nothing must not keep the writer busy.
  wakeup_ = wakeup == TimeMs::never() ? wakeup : std::max(wakeup, TimeMs(now.value + kWakeupPauseMs));
}

Result<std::vector<StoredEvent>> Writer::commit(Transaction& transaction) {
  std::vector<StoredEvent> durable;
  if (transaction.records().empty()) return durable;
  std::vector<NewRecord> records;
  records.reserve(transaction.records().size());
  std::vector<std::vector<NewEvent>> events = transaction.take_events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const wire::JournalRecord& record = transaction.records()[i];
    records.push_back({transaction.now(), std::string(wire::record_kind(record)), wire::encode_record(record),
                       std::move(events[i])});
  }
  TG_CRASH_POINT("service.before_append");
  const auto begin = steady_clock::now();
  const auto first = store_.append(records);
  meters_.journal_up = first.has_value();
  if (!first) {
    ++meters_.append_failures;
    return fail(first.error());
  }
  TG_ASSERT(*first == sequence_ + 1, "the cursors of the events are those of their records");
  meters_.append.Observe(seconds(steady_clock::now() - begin));
  meters_.sync.Observe(seconds(store_.last_sync_time()));
  for (NewRecord& record : records) {
    ++sequence_;
    std::uint32_t item = 0;
    for (NewEvent& event : record.events) durable.push_back({{sequence_, item++}, std::move(event)});
  }
  meters_.last_sequence = sequence_;
  if (store_failed_) {
    log::info("the journal takes records again");
    const std::lock_guard lock(mutex_);
    problem_.reset();
  }
  store_failed_ = false;
  return durable;
}

std::optional<Error> Writer::journal_problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void Writer::roll_back(const Error& error, std::vector<Item> items) {
  if (!store_failed_) log::error("the journal takes no records: " + error.to_string());
  store_failed_ = true;
  working_ = cell_.read([](const State& state) { return state; });
  Error told{Code::kUnavailable,
             "store.unavailable",
             "nothing was changed, because the journal cannot be written",
             error.hint.empty() ? "look at the log of the daemon, then try again" : error.hint,
             {},
             nullptr};
  told.cause = std::make_shared<const Error>(error);
  {
    const std::lock_guard lock(mutex_);
    problem_ = error;
    at_work_since_.reset();
    reports_rest_until_ = options_.pace.now() + kRetryPause;
    // What time alone would change is tried again with the next group.
    wakeup_ = clock_.now();
    wakeup_.value += kRetryPause.count();
    for (std::size_t i = items.size(); i > 0; --i) {
      if (items[i - 1].is_report) reports_.push_front(std::move(items[i - 1].command));
    }
    // Without a journal there is no end to wait for: the next daemon hears the same reports again.
    if (stopping_) reports_.clear();
  }
  const Result<void> failed = fail(std::move(told));
  for (const Item& item : items) {
    if (!item.is_report && item.command.done) item.command.done(failed);
  }
}

// Not before as many records as the last snapshot has entries: then all of them together cost each record
// about as much as the record itself, however many jobs there are, and recovery reads no more records than
// entries.
bool Writer::snapshot_due() const {
  return !encoding_ && sequence_ - snapshot_begun_ >= std::max(options_.snapshot_every, snapshot_entries_);
}

void Writer::begin_snapshot() {
  encoding_ = true;
  snapshot_begun_ = sequence_;
  snapshot_entries_ = entries_of(working_);
  encoder_.post([this, sequence = sequence_, state = std::make_shared<const State>(working_)] {
    Snapshot snapshot{sequence, state->to_snapshot()};
    const std::lock_guard lock(mutex_);
    encoded_ = std::move(snapshot);
    changed_.notify_one();
  });
}

void Writer::save_encoded() {
  std::optional<Snapshot> snapshot;
  {
    const std::lock_guard lock(mutex_);
    snapshot.swap(encoded_);
  }
  if (!snapshot) return;
  encoding_ = false;
  save(*snapshot);
}

// One that cannot be saved is tried again after as many records as between two.
void Writer::save(const Snapshot& snapshot) {
  const auto saved = store_.save_snapshot(snapshot);
  if (!saved) {
    log::warn("the snapshot was not saved, recovery will read more records: " + saved.error().to_string());
    return;
  }
  TG_CRASH_POINT("service.after_snapshot");
  snapshot_sequence_ = snapshot.sequence;
  const TimeMs before(clock_.now().value - options_.journal_keep_ms);
  if (const auto compacted = store_.compact(before); !compacted) {
    log::warn("the journal was not compacted: " + compacted.error().to_string());
  }
}

}  // namespace tangram::service

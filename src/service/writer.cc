#include "service/writer.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/crash_point.h"
#include "base/invariant.h"
#include "base/log.h"

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

}  // namespace

void Transaction::record(wire::JournalRecord record) {
  state_.apply(record, now_);
  records_.push_back(std::move(record));
}

void Transaction::decide() {
  for (auto batch = state_.core().decide(now_); !batch.empty(); batch = state_.core().decide(now_)) {
    for (const Decision& decision : batch) {
      std::visit([this](const auto& d) { record(d); }, decision);
      // Nothing has to be started for a lease: it runs as soon as it is given.
      const auto* started = std::get_if<JobStarted>(&decision);
      if (started != nullptr && state_.kind(started->job) == wire::JobKind::kLease) {
        record(AttemptRunning{started->job, started->attempt});
      }
    }
  }
}

Writer::Writer(Store& store, StateCell& cell, Clock& clock, const Options& options, Meters& meters,
               Effects effects)
    : store_(store),
      cell_(cell),
      clock_(clock),
      options_(options),
      meters_(meters),
      effects_(std::move(effects)) {}

Writer::~Writer() {
  stop();
}

Result<void> Writer::recover() {
  TG_ASSERT(!running_, "recover() after start()");
  State state;
  TG_TRY(const std::optional<Snapshot> snapshot, store_.latest_snapshot());
  if (snapshot) {
    TG_TRY(state, State::from_snapshot(snapshot->body));
    sequence_ = snapshot->sequence;
  }
  snapshot_sequence_ = sequence_;
  TG_TRY_VOID(store_.read_after(sequence_, [&](const StoredRecord& stored) -> Result<void> {
    auto record = wire::decode_record(stored.kind, stored.body);
    if (!record) {
      return fail(wrap("record " + std::to_string(stored.sequence) + " of the journal cannot be read",
                       std::move(record).error()));
    }
    state.apply(*record, stored.at);
    sequence_ = stored.sequence;
    return {};
  }));
  meters_.last_sequence = sequence_;
  clock_.continue_from(state.last_time());
  working_ = state;
  cell_.replace(std::move(state));
  return {};
}

void Writer::start() {
  TG_ASSERT(!running_, "start() twice");
  running_ = true;
  thread_ = std::thread([this] { run(); });
}

void Writer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
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
  while (true) {
    std::vector<Item> items = take();
    if (items.empty()) {
      const std::lock_guard lock(mutex_);
      if (stopping_ && commands_.empty()) break;
    }
    process(std::move(items));
  }
  if (!store_failed_ && sequence_ != snapshot_sequence_) save_snapshot();
}

bool Writer::ready_locked() const {
  return stopping_ || !commands_.empty() || (!reports_.empty() && steady_clock::now() >= reports_rest_until_);
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
  if (steady_clock::now() >= reports_rest_until_) {
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
  Transaction transaction(working_, now);
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

  const Result<void> durable = commit(transaction);
  if (!durable) {
    roll_back(durable.error(), std::move(items));
    return;
  }
  cell_.apply(transaction.records(), now);
  measure(items);
  if (!transaction.records().empty()) {
    TG_CRASH_POINT("service.after_append");
    effects_(transaction.records());
  }
  for (const Item& item : items) {
    if (item.command.done) item.command.done(durable);
  }
  if (sequence_ - snapshot_sequence_ >= options_.snapshot_every) save_snapshot();
  const TimeMs wakeup = working_.core().next_wakeup();
  const std::lock_guard lock(mutex_);
  at_work_since_.reset();
  // A time that is over and changed nothing must not keep the writer busy.
  wakeup_ = wakeup == TimeMs::never() ? wakeup : std::max(wakeup, TimeMs(now.value + kWakeupPauseMs));
}

Result<void> Writer::commit(const Transaction& transaction) {
  if (transaction.records().empty()) {
    return {};
  }
  std::vector<NewRecord> records;
  records.reserve(transaction.records().size());
  for (const wire::JournalRecord& record : transaction.records()) {
    records.push_back(
        {transaction.now(), std::string(wire::record_kind(record)), wire::encode_record(record)});
  }
  TG_CRASH_POINT("service.before_append");
  const auto begin = steady_clock::now();
  auto first = store_.append(records);
  meters_.journal_up = first.has_value();
  if (!first) {
    ++meters_.append_failures;
    return fail(std::move(first).error());
  }
  meters_.append.Observe(seconds(steady_clock::now() - begin));
  meters_.sync.Observe(seconds(store_.last_sync_time()));
  sequence_ = *first + records.size() - 1;
  meters_.last_sequence = sequence_;
  if (store_failed_) log::info("the journal takes records again");
  store_failed_ = false;
  return {};
}

void Writer::roll_back(const Error& error, std::vector<Item> items) {
  if (!store_failed_) log::error("the journal takes no records: " + error.to_string());
  store_failed_ = true;
  working_ = cell_.read([](const State& state) { return state; });
  Error told{Code::kUnavailable,
             "store.unavailable",
             "nothing was changed, because the journal cannot be written",
             "free space where the daemon keeps its state, then try again",
             {},
             nullptr};
  told.cause = std::make_shared<const Error>(error);
  {
    const std::lock_guard lock(mutex_);
    at_work_since_.reset();
    reports_rest_until_ = steady_clock::now() + kRetryPause;
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

void Writer::save_snapshot() {
  const auto saved = store_.save_snapshot({sequence_, working_.to_snapshot()});
  if (!saved) {
    log::warn("the snapshot was not saved, recovery will read more records: " + saved.error().to_string());
    // Tried again after as many records as between two snapshots.
    snapshot_sequence_ = sequence_;
    return;
  }
  TG_CRASH_POINT("service.after_snapshot");
  snapshot_sequence_ = sequence_;
  const TimeMs before(clock_.now().value - options_.journal_keep_ms);
  if (const auto compacted = store_.compact(before); !compacted) {
    log::warn("the journal was not compacted: " + compacted.error().to_string());
  }
}

}  // namespace tangram::service

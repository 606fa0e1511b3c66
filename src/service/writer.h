// The single writer: the one thread that decides. Commands from any thread queue up; the writer takes a
// group, runs each, lets the core decide what follows, and appends all records at once. Only when they are
// durable the commands are acknowledged and the records' effects leave. When they cannot be made durable
// nothing of the group counts: the state goes back, clients get the error, reports (what happened outside)
// are tried again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "ports/store.h"
#include "service/clock.h"
#include "service/events.h"
#include "service/meters.h"
#include "service/options.h"
#include "service/state_cell.h"
#include "service/worker_pool.h"

namespace tangram::service {

// One group in the making. Lives on the writer's thread.
class Transaction {
 public:
  // `sequence`: that of the last record before the group.
  Transaction(State& state, TimeMs now, std::uint64_t sequence)
      : state_(state), now_(now), sequence_(sequence) {}

  const State& state() const { return state_; }
  TimeMs now() const { return now_; }
  // Applies the record to the working state and adds it to the group, and so what must not come apart from
  // it: a start and the order of its slice; the end of an attempt, or a slice's return, and what its NPU has
  // left.
  void record(wire::JournalRecord record);
  // Records what the core decides now, until it has nothing more to say.
  void decide();
  const std::vector<wire::JournalRecord>& records() const { return records_; }
  // What the records mean to those who watch; for each record its own.
  std::vector<std::vector<NewEvent>> take_events() { return std::move(events_); }

 private:
  void append(wire::JournalRecord record);
  void order_slice(const JobStarted& start);

  State& state_;
  TimeMs now_;
  std::uint64_t sequence_;
  std::vector<wire::JournalRecord> records_;
  std::vector<std::vector<NewEvent>> events_;
};

struct Command {
  std::function<void(Transaction&)> run;
  // After the group: durable, or why not. On the writer's thread; must be short.
  std::function<void(const Result<void>&)> done;
  std::chrono::steady_clock::time_point arrived = {};  // set by the writer
};

class Writer {
 public:
  // Both are called on the writer's thread with what of each group is durable, before acknowledgements.
  using Effects = std::function<void(std::span<const wire::JournalRecord>)>;
  // The events, and the sequence of the last record, whether it has any or not.
  using Publish = std::function<void(std::vector<StoredEvent>, std::uint64_t)>;

  Writer(Store& store, StateCell& cell, Clock& clock, const Options& options, Meters& meters, Effects effects,
         Publish publish);
  ~Writer();  // stop()
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Reads snapshot and journal into the state; never decides. Before start().
  Result<void> recover();
  std::uint64_t last_sequence() const { return sequence_; }  // before start()
  void start();
  // Finishes what is queued, saves a snapshot. What comes later is refused. Idempotent.
  void stop();

  // kResourceExhausted "service.busy" when too many wait, kUnavailable "service.stopping".
  // On an error neither function of the command is called.
  Result<void> submit(Command command);
  // What happened outside: never refused, and tried again until it is durable.
  void report(Command command);

  // Without a thread (Options::pace): the next round, if there is something to do. step_encoder() encodes a
  // snapshot that is to be saved.
  bool step();
  bool step_encoder() { return encoder_.step(); }

  // What is not durable yet.
  struct Backlog {
    std::size_t commands = 0;  // waiting, without those of the group at work
    std::size_t reports = 0;
    std::chrono::nanoseconds oldest{0};  // since the oldest of all of them arrived
  };
  Backlog backlog() const;

  // Why the journal took no record when it was last tried; none: it did.
  std::optional<Error> journal_problem() const;

 private:
  struct Item {
    Command command;
    bool is_report = false;
  };

  void run();
  std::vector<Item> take();
  bool ready_locked() const;
  void process(std::vector<Item> items);
  void measure(const std::vector<Item>& items) const;
  // The events of the group once it is durable.
  Result<std::vector<StoredEvent>> commit(Transaction& transaction);
  void roll_back(const Error& error, std::vector<Item> items);
  bool snapshot_due() const;
  void begin_snapshot();
  void save_encoded();
  void save(const Snapshot& snapshot);

  Store& store_;
  StateCell& cell_;
  Clock& clock_;
  const Options options_;
  Meters& meters_;
  Effects effects_;
  Publish publish_;

  // The writer's thread only.
  State working_;
  std::uint64_t sequence_ = 0;           // of the last durable record
  std::uint64_t snapshot_sequence_ = 0;  // of the last snapshot that was saved
  std::uint64_t snapshot_begun_ = 0;     // of the last one that was begun
  std::uint64_t snapshot_entries_ = 0;   // jobs in that one
  bool encoding_ = false;                // it is neither saved nor given up yet
  bool store_failed_ = false;            // the last append did not succeed

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // When the oldest command of the group at work arrived; none: no group is at work.
  std::optional<std::chrono::steady_clock::time_point> at_work_since_;
  std::deque<Command> commands_;
  std::deque<Command> reports_;
  std::chrono::steady_clock::time_point reports_rest_until_{};
  TimeMs wakeup_;  // the first group, at once, lets the core decide on what recovery left
  bool stopping_ = false;
  bool running_ = false;
  std::optional<Snapshot> encoded_;  // to be saved
  std::optional<Error> problem_;     // as journal_problem()
  std::thread thread_;
  WorkerPool encoder_;  // of snapshots: a large state takes a second, in which nothing would be decided
};

}  // namespace tangram::service

// Where readers of events find what is new: the newest events in memory, older ones in the store. Each reader
// goes at its own pace from its own position; the writer only adds, and never waits for any of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "ports/store.h"

namespace tangram::service {

struct EventPage {
  std::vector<std::shared_ptr<const StoredEvent>> events;
  EventCursor end;    // behind all that was looked at: read on from here
  bool more = false;  // there is more at once
};

// kFailedPrecondition "events.cursor.gone" when events behind `position` are among those that are lost.
Result<void> check_kept(const EventCursor& position, std::uint64_t lost_through);

// Thread-safe.
class EventHub {
 public:
  using Call = std::function<void()>;
  using Ticket = std::uint64_t;  // 0: none

  // Sizes of what is kept in memory, and of one page.
  static constexpr std::size_t kRecentMax = 8'192;
  static constexpr std::size_t kRecentBytesMax = std::size_t{8} << 20;
  static constexpr std::size_t kPageMax = 256;

  // The store must outlive the hub.
  explicit EventHub(Store& store) : store_(store) {}
  ~EventHub();  // stop()
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // `sequence`: of the last durable record.
  void start(std::uint64_t sequence);
  // What is not called yet never will be. Not from a call. Idempotent.
  void stop();

  // The events of the next durable records, of which `sequence` is the last.
  void publish(std::vector<StoredEvent> events, std::uint64_t sequence);

  // Behind all that is durable.
  EventCursor newest() const;

  // The next events behind `position`. Errors: that of check_kept(); "events.cursor.ahead"
  // (kFailedPrecondition) when it lies ahead of the journal: another journal's cursor. May read the disk.
  Result<EventPage> read(const EventCursor& position) const;
  // "events.cursor.ahead" as of read().
  Result<void> check_not_ahead(const EventCursor& position) const;

  // Calls once, on the hub's thread, as soon as there is something behind `position`. Calls are gathered:
  // many records in a short time are one call.
  Ticket call_when_behind(const EventCursor& position, Call call);
  // Calls soon on the hub's thread instead; nothing if it has called already.
  void call_now(Ticket ticket);
  // Runs the call soon on the hub's thread.
  void post(Call call);

 private:
  struct Waiter {
    std::uint64_t sequence = 0;  // all that there was when it came
    Call call;
  };

  void run();
  Result<void> check_reached(const EventCursor& position) const;
  bool is_due() const { return !waiting_.empty() && waiting_.begin()->second.sequence != sequence_; }
  void run_posted(std::unique_lock<std::mutex>& lock);
  void wake(std::unique_lock<std::mutex>& lock);
  Result<EventPage> read_stored(const EventCursor& position, const EventCursor& newest) const;

  Store& store_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const StoredEvent>> recent_;
  std::size_t recent_bytes_ = 0;
  EventCursor recent_after_;  // every event behind this is in recent_
  std::uint64_t sequence_ = 0;
  Ticket next_ticket_ = 1;
  std::map<Ticket, Waiter> waiting_;  // who came later has seen as much or more
  std::vector<Call> posted_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::service

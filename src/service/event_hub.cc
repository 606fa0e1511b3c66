#include "service/event_hub.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "wire/event.h"

namespace tangram::service {
namespace {

// Between two rounds of waking readers: what it costs them must not grow with the rate of records.
constexpr std::chrono::milliseconds kPause{10};

std::size_t size_of(const StoredEvent& stored) {
  const NewEvent& event = stored.event;
  return sizeof stored + event.type.size() + event.topic.size() + event.group.size() + event.body.size() +
         event.tenants.size() * sizeof(std::uint32_t);
}

}  // namespace

Result<void> check_kept(const EventCursor& position, std::uint64_t lost_through) {
  const EventCursor oldest{lost_through, EventCursor::kItemMax};
  // Before the first record there is nothing to lose.
  if (lost_through == 0 || position >= oldest) return {};
  return fail(Code::kFailedPrecondition, "events.cursor.gone",
              "events behind " + wire::format_cursor(position) +
                  " are no longer kept; they are from record " + std::to_string(lost_through + 1) + " on",
              "read the present state (GET /v1/jobs, /v1/tenants, /v1/status), then go on from now (without "
              "after) or from the oldest event kept (after=oldest)",
              {{"oldest", wire::format_cursor(oldest)}});
}

EventHub::~EventHub() {
  stop();
}

void EventHub::start(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  sequence_ = sequence;
  recent_after_ = {sequence, EventCursor::kItemMax};
  thread_ = std::thread([this] { run(); });
}

void EventHub::stop() {
  std::map<Ticket, Waiter> waiting;
  std::vector<Call> posted;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting.swap(waiting_);
    posted.swap(posted_);
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void EventHub::publish(std::vector<StoredEvent> events, std::uint64_t sequence) {
  std::vector<std::shared_ptr<const StoredEvent>> fresh;
  fresh.reserve(events.size());
  for (StoredEvent& event : events) fresh.push_back(std::make_shared<const StoredEvent>(std::move(event)));
  std::vector<std::shared_ptr<const StoredEvent>> dropped;  // freed without the lock
  const std::lock_guard lock(mutex_);
  for (auto& event : fresh) {
    recent_bytes_ += size_of(*event);
    recent_.push_back(std::move(event));
  }
  while (recent_.size() > kRecentMax || recent_bytes_ > kRecentBytesMax) {
    recent_bytes_ -= size_of(*recent_.front());
    recent_after_ = recent_.front()->cursor;
    dropped.push_back(std::move(recent_.front()));
    recent_.pop_front();
  }
  sequence_ = sequence;
  if (!waiting_.empty()) changed_.notify_one();
}

EventCursor EventHub::newest() const {
  const std::lock_guard lock(mutex_);
  return {sequence_, EventCursor::kItemMax};
}

Result<void> EventHub::check_not_ahead(const EventCursor& position) const {
  const std::lock_guard lock(mutex_);
  return check_reached(position);
}

Result<void> EventHub::check_reached(const EventCursor& position) const {
  if (position.sequence <= sequence_) return {};
  return fail(Code::kFailedPrecondition, "events.cursor.ahead",
              "the cursor " + wire::format_cursor(position) + " lies ahead of this journal, which ends at " +
                  std::to_string(sequence_),
              "take a cursor from this daemon's own events");
}

Result<EventPage> EventHub::read(const EventCursor& position) const {
  EventPage page;
  {
    const std::lock_guard lock(mutex_);
    TG_TRY_VOID(check_reached(position));
    page.end = {sequence_, EventCursor::kItemMax};
    if (position >= recent_after_) {
      auto next = std::upper_bound(
          recent_.begin(), recent_.end(), position,
          [](const EventCursor& cursor, const auto& stored) { return cursor < stored->cursor; });
      for (; next != recent_.end() && page.events.size() < kPageMax; ++next) page.events.push_back(*next);
      page.more = next != recent_.end();
      if (page.more) page.end = page.events.back()->cursor;
      return page;
    }
  }
  return read_stored(position, page.end);
}

Result<EventPage> EventHub::read_stored(const EventCursor& position, const EventCursor& newest) const {
  EventRange range;
  range.after = position;
  // The store may have more already, which nobody was told of yet.
  range.before = {newest.sequence + 1, 0};
  range.limit = kPageMax;
  TG_TRY(StoredEvents stored, store_.read_events(range));
  TG_TRY_VOID(check_kept(position, stored.lost_through));
  EventPage page;
  for (StoredEvent& event : stored.events) {
    page.events.push_back(std::make_shared<const StoredEvent>(std::move(event)));
  }
  page.more = page.events.size() == kPageMax;
  page.end = page.more ? page.events.back()->cursor : newest;
  return page;
}

EventHub::Ticket EventHub::call_when_behind(const EventCursor& position, Call call) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return 0;
  if (position < EventCursor{sequence_, EventCursor::kItemMax}) {
    posted_.push_back(std::move(call));
    changed_.notify_one();
    return 0;
  }
  const Ticket ticket = next_ticket_++;
  waiting_.emplace(ticket, Waiter{sequence_, std::move(call)});
  return ticket;
}

void EventHub::call_now(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  posted_.push_back(std::move(found->second.call));
  waiting_.erase(found);
  changed_.notify_one();
}

void EventHub::post(Call call) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  posted_.push_back(std::move(call));
  changed_.notify_one();
}

void EventHub::wake(std::unique_lock<std::mutex>& lock) {
  std::vector<Call> woken;
  while (is_due()) {
    woken.push_back(std::move(waiting_.begin()->second.call));
    waiting_.erase(waiting_.begin());
  }
  lock.unlock();
  for (const Call& call : woken) call();
  woken.clear();
  lock.lock();
}

void EventHub::run_posted(std::unique_lock<std::mutex>& lock) {
  std::vector<Call> posted;
  posted.swap(posted_);
  lock.unlock();
  for (const Call& call : posted) call();
  posted.clear();
  lock.lock();
}

void EventHub::run() {
  auto next_wake = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  // In turns: readers of the past must not keep those of the present waiting.
  while (!stopping_) {
    if (!posted_.empty()) run_posted(lock);
    if (is_due() && std::chrono::steady_clock::now() >= next_wake) {
      wake(lock);
      next_wake = std::chrono::steady_clock::now() + kPause;
    }
    if (is_due()) {
      changed_.wait_until(lock, next_wake, [&] { return stopping_ || !posted_.empty(); });
    } else {
      changed_.wait(lock, [&] { return stopping_ || !posted_.empty() || is_due(); });
    }
  }
}

}  // namespace tangram::service

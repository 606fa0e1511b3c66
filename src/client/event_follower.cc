#include "client/event_follower.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/patience.h"

namespace tangram::client {
namespace {

constexpr std::chrono::milliseconds kRestLeast{500};

}  // namespace

EventFollower::EventFollower(ApiClient& api, EventQuery query, std::string after, Handlers handlers)
    : api_(api), query_(std::move(query)), handlers_(std::move(handlers)), cursor_(std::move(after)) {}

Result<std::unique_ptr<EventFollower>> EventFollower::open(ApiClient& api, EventQuery query,
                                                           std::string after, Handlers handlers) {
  std::unique_ptr<EventFollower> follower(
      new EventFollower(api, std::move(query), std::move(after), std::move(handlers)));
  follower->thread_ = std::thread([self = follower.get()] { self->run(); });
  std::unique_lock lock(follower->mutex_);
  follower->changed_.wait(lock, [&] { return follower->opened_ || follower->ended_; });
  if (const std::optional<Error> ended = follower->opened_ ? std::nullopt : follower->ended_)
    return fail(*ended);
  lock.unlock();
  return follower;
}

EventFollower::~EventFollower() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  interrupt_.raise();
  if (thread_.joinable()) thread_.join();
}

void EventFollower::run() {
  std::string position = cursor();
  while (true) {
    open_failure_.reset();
    Result<void> ended = api_.follow_events(
        query_, position, [&](std::span<const FollowedEvent> events) { return take(events, position); },
        &interrupt_);
    if (open_failure_) ended = fail(*open_failure_);
    if (interrupt_.raised() || ended || !go_on_after(ended.error(), position)) return;
  }
}

bool EventFollower::take(std::span<const FollowedEvent> events, const std::string& position) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    if (!position.empty()) cursor_ = position;
  }
  if (fresh_ && handlers_.on_open) {
    if (const auto opened = handlers_.on_open(); !opened) {
      open_failure_ = opened.error();
      return false;
    }
  }
  fresh_ = false;
  for (const FollowedEvent& event : events) {
    if (interrupt_.raised()) return false;
    if (handlers_.on_event) handlers_.on_event(event);
    const std::lock_guard lock(mutex_);
    cursor_ = event.view.cursor;
  }
  const std::lock_guard lock(mutex_);
  opened_ = true;
  changed_.notify_all();
  return true;
}

bool EventFollower::go_on_after(const Error& error, std::string& position) {
  std::unique_lock lock(mutex_);
  if (opened_ && may_pass(error)) {
    const auto rest = std::max(kRestLeast, rest_after(error, system_random()));
    return !changed_.wait_for(lock, rest, [&] { return stopping_; });
  }
  if (opened_ && handlers_.on_end) {
    lock.unlock();
    const std::optional<std::string> again = handlers_.on_end(error);
    lock.lock();
    if (again) {
      position = cursor_ = *again;
      fresh_ = true;
      return !stopping_;
    }
  }
  ended_ = error;
  changed_.notify_all();
  return false;
}

std::string EventFollower::cursor() const {
  const std::lock_guard lock(mutex_);
  return cursor_;
}

bool EventFollower::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_.has_value();
}

}  // namespace tangram::client

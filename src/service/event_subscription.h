// One reader of events: its filter, its position, its place among those that may read at once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "service/event_filter.h"
#include "service/event_hub.h"

namespace tangram::service {

// Who follows events at present, counted. Thread-safe.
class EventSeats {
 public:
  using Seat = std::shared_ptr<void>;  // given back when it goes; the seats must outlive it

  EventSeats(std::size_t seats_max, std::size_t seats_per_owner_max)
      : max_(seats_max), per_owner_max_(seats_per_owner_max) {}

  // `owner`: "tenant team-a", "token t-3"; empty for the operator, who is bound by the whole alone.
  // kResourceExhausted "events.streams.too_many".
  Result<Seat> take(const std::string& owner);

 private:
  void give_back(const std::string& owner);

  const std::size_t max_;
  const std::size_t per_owner_max_;
  std::mutex mutex_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> of_owners_;
};

// Not thread-safe: one call at a time.
class EventSubscription {
 public:
  EventSubscription(EventHub& hub, EventSeats::Seat seat, EventFilter filter, const EventCursor& position)
      : hub_(hub), seat_(std::move(seat)), filter_(std::move(filter)), position_(position) {}

  // Behind what was read so far.
  const EventCursor& position() const { return position_; }

  // The next events that pass the filter; there may be none although `more` says that others are to be looked
  // at. Errors as EventHub::read().
  Result<EventPage> next();

  // See EventHub. Calls come on one thread for all subscriptions, and must not block.
  EventHub::Ticket call_when_more(EventHub::Call call) {
    return hub_.call_when_behind(position_, std::move(call));
  }
  void call_now(EventHub::Ticket ticket) { hub_.call_now(ticket); }
  void post(EventHub::Call call) { hub_.post(std::move(call)); }

 private:
  EventHub& hub_;
  EventSeats::Seat seat_;
  EventFilter filter_;
  EventCursor position_;
};

}  // namespace tangram::service

#include "service/event_subscription.h"

#include <string>
#include <utility>

namespace tangram::service {

Result<EventSeats::Seat> EventSeats::take(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [](std::size_t most, const std::string& whose) {
    return fail(Code::kResourceExhausted, "events.streams.too_many",
                whose + " has " + std::to_string(most) + " event streams open, and may have no more",
                "close one, or follow several things in one stream",
                {{"limit", static_cast<std::int64_t>(most)}});
  };
  if (taken_ >= max_) return refuse(max_, "the daemon");
  if (!owner.empty()) {
    std::size_t& own = of_owners_[owner];
    if (own >= per_owner_max_) return refuse(per_owner_max_, owner);
    ++own;
  }
  ++taken_;
  return Seat(nullptr, [this, owner](void*) { give_back(owner); });
}

void EventSeats::give_back(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  --taken_;
  if (owner.empty()) return;
  const auto own = of_owners_.find(owner);
  if (--own->second == 0) of_owners_.erase(own);
}

Result<EventPage> EventSubscription::next() {
  TG_TRY(EventPage page, hub_.read(position_));
  std::erase_if(page.events, [&](const auto& stored) { return !filter_.passes(stored->event); });
  position_ = page.end;
  return page;
}

}  // namespace tangram::service

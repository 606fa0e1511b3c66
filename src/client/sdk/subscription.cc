#include <map>
#include <utility>

#include "client/event_follower.h"
#include "client/sdk/convert.h"
#include "client/sdk/impl.h"

namespace tangram::api {

struct Subscription::Impl {
  std::shared_ptr<Client::Impl> client;
  std::unique_ptr<client::EventFollower> follower;
};

namespace {

using client::EventFollower;
using client::FollowedEvent;
using client::to_api;
using client::to_wire;

constexpr const char* kCursorGone = "events.cursor.gone";

// What is known of each NPU, and the comparison with what is heard.
class HealthBook {
 public:
  HealthBook(client::ApiClient& http, HealthHandler on_change)
      : http_(http), on_change_(std::move(on_change)) {}

  // The present state: at the beginning, and when events are missing.
  tangram::Result<void> look() {
    TG_TRY(const wire::StatusView status, http_.status());
    for (const wire::NpuStatusView& npu : status.npus) note(npu.npu, to_api(npu.health), npu.health_note);
    return {};
  }

  void take(const wire::EventView& event) {
    if (!event.npu) return;
    const tangram::Health health = event.health.value_or(
        event.type == "npu.gone" ? tangram::Health::kAbsent : tangram::Health::kUnknown);
    if (event.health || event.type == "npu.gone")
      note(*event.npu, to_api(health), note_of(*event.npu, health));
  }

 private:
  void note(std::uint32_t npu, Health now, std::string note) {
    const auto known = known_.find(npu);
    const std::optional<Health> before = known == known_.end() ? std::nullopt : std::optional(known->second);
    if (before == now) return;
    known_[npu] = now;
    on_change_({npu, before, now, std::move(note)});
  }

  // The driver's words, which events do not carry.
  std::string note_of(std::uint32_t npu, tangram::Health health) {
    if (health == tangram::Health::kOk) return {};
    const auto status = http_.status();
    if (!status) return {};
    for (const wire::NpuStatusView& view : status->npus) {
      if (view.npu == npu && view.health == health) return view.health_note;
    }
    return {};
  }

  client::ApiClient& http_;
  const HealthHandler on_change_;
  std::map<std::uint32_t, Health> known_;
};

}  // namespace

Result<Subscription> Client::subscribe(const EventQuery& query, EventHandler on_event,
                                       EndHandler on_end) const {
  EventFollower::Handlers handlers;
  handlers.on_event = [handler = std::move(on_event)](const FollowedEvent& event) { handler(to_api(event)); };
  handlers.on_end = [handler = std::move(on_end)](const tangram::Error& error) {
    if (handler) handler(to_api(error));
    return std::nullopt;
  };
  auto follower = EventFollower::open(impl_->http, to_wire(query), query.after, std::move(handlers));
  if (!follower) return to_api(follower.error());
  return Subscription(std::make_unique<Subscription::Impl>(Subscription::Impl{impl_, std::move(*follower)}));
}

Result<Subscription> Client::watch_health(HealthHandler on_change, EndHandler on_end) const {
  const auto book = std::make_shared<HealthBook>(impl_->http, std::move(on_change));
  EventFollower::Handlers handlers;
  handlers.on_open = [book] { return book->look(); };
  handlers.on_event = [book](const FollowedEvent& event) { book->take(event.view); };
  handlers.on_end = [handler = std::move(on_end)](const tangram::Error& error) -> std::optional<std::string> {
    if (error.reason == kCursorGone) return std::string();  // from now on, after a look at the present state
    if (handler) handler(to_api(error));
    return std::nullopt;
  };
  client::EventQuery query;
  query.types = {"npu.appeared", "npu.gone", "npu.health"};
  auto follower = EventFollower::open(impl_->http, query, "", std::move(handlers));
  if (!follower) return to_api(follower.error());
  return Subscription(std::make_unique<Subscription::Impl>(Subscription::Impl{impl_, std::move(*follower)}));
}

Subscription::Subscription(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Subscription::Subscription(Subscription&& other) noexcept = default;
Subscription& Subscription::operator=(Subscription&& other) noexcept = default;
Subscription::~Subscription() = default;

std::string Subscription::cursor() const {
  return impl_->follower->cursor();
}

bool Subscription::ended() const {
  return impl_->follower->ended();
}

}  // namespace tangram::api

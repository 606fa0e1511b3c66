#include "server/event_stream.h"

#include <atomic>
#include <string>
#include <utility>

#include "server/early_call.h"
#include "server/exchange.h"
#include "wire/event.h"

namespace tangram::server {
namespace {

// Steps run on the event thread of the service, one at a time. A stream lives as long as something will call
// it.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(service::Service& service, std::unique_ptr<service::EventSubscription> subscription,
              std::function<Result<void>()> may_go_on, net::StreamWriter writer, wire::Language language)
      : service_(service),
        subscription_(std::move(subscription)),
        may_go_on_(std::move(may_go_on)),
        writer_(std::move(writer)),
        language_(language),
        next_step_([this](EarlyCall::Ticket ticket) { subscription_->call_now(ticket); }) {}

  void start() {
    writer_.on_cancel([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->cancel();
    });
    arm_tick();
    step_later();
  }

 private:
  void step() {
    if (finished_) return;
    (void)next_step_.take_wish();  // this is the step
    if (cancelled_) return finish();
    if (is_tick_due_.exchange(false)) {
      if (const auto allowed = may_go_on_(); !allowed) return finish_with(allowed.error());
      is_silent_ = true;
    }
    if (!unsent_.empty()) return send(std::exchange(unsent_, {}));
    const Result<service::EventPage> page = subscription_->next();
    if (!page) return finish_with(page.error());
    std::string text;
    for (const auto& stored : page->events) append_event(text, *stored);
    if (text.empty() && is_silent_) text = ": keep-alive\n" + id_line() + "\n";
    is_silent_ = false;
    if (!text.empty()) {
      send(std::move(text));
    } else if (page->more) {
      step_later();
    } else {
      wait();
    }
  }

  // One piece at a time: the next is made when the network has taken this one.
  void send(std::string text) {
    switch (writer_.write(text)) {
      case net::StreamWriter::Status::kTaken:
        break;
      case net::StreamWriter::Status::kFull:  // the head of the answer is still on its way
        unsent_ = std::move(text);
        break;
      case net::StreamWriter::Status::kClosed:
        return finish();
    }
    writer_.on_writable([self = shared_from_this()] { self->step_later(); });
  }

  void wait() {
    next_step_.arrange(
        [this] { return subscription_->call_when_more([self = shared_from_this()] { self->step(); }); });
  }

  void step_later() {
    subscription_->post([self = shared_from_this()] { self->step(); });
  }

  void cancel() {
    cancelled_ = true;
    next_step_.want();
  }

  void arm_tick() {
    service_.call_after(service_.event_silence(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tick();
    });
  }

  void tick() {
    is_tick_due_ = true;
    next_step_.want();
    arm_tick();
  }

  void finish() {
    finished_ = true;
    writer_.finish();
  }

  void finish_with(const Error& error) {
    (void)writer_.write(problem_event(error, language_));
    finish();
  }

  std::string id_line() const { return "id: " + wire::format_cursor(subscription_->position()) + "\n"; }

  static void append_event(std::string& text, const StoredEvent& stored) {
    text.append("id: ").append(wire::format_cursor(stored.cursor));
    text.append("\ndata: ").append(stored.event.body).append("\n\n");
  }

  service::Service& service_;
  const std::unique_ptr<service::EventSubscription> subscription_;
  const std::function<Result<void>()> may_go_on_;
  net::StreamWriter writer_;
  const wire::Language language_;
  bool finished_ = false;  // these three: on the event thread only
  bool is_silent_ = false;
  std::string unsent_;  // what found no room yet
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> is_tick_due_ = false;
  EarlyCall next_step_;
};

}  // namespace

void stream_events(service::Service& service, std::unique_ptr<service::EventSubscription> subscription,
                   std::function<Result<void>()> may_go_on, net::Responder responder,
                   wire::Language language) {
  net::Response head;
  head.headers.set("Content-Type", "text/event-stream");
  head.headers.set("Cache-Control", "no-store");
  // With a cursor before the first event, a reader that is cut off at once knows where to go on.
  head.body = "retry: 1000\nid: " + wire::format_cursor(subscription->position()) + "\n\n";
  std::make_shared<EventStream>(service, std::move(subscription), std::move(may_go_on),
                                responder.stream(std::move(head)), language)
      ->start();
}

}  // namespace tangram::server

#include "server/lease_stream.h"

#include <chrono>
#include <utility>

#include "server/exchange.h"

namespace tangram::server {
namespace {

// So often a holder that is not there any more is found out by a network that says nothing.
constexpr std::chrono::milliseconds kKeepAlive{5'000};
constexpr std::string_view kNothing = ": the lease is held\n\n";

std::string event_of(const wire::LeaseView& view) {
  return "event: lease\ndata: " + wire::write(view) + "\n\n";
}

std::string taken_up(wire::Language language) {
  const Error error{Code::kAborted,
                    "lease.taken_up",
                    "another connection has taken the lease up",
                    "a token belongs to one holder",
                    {},
                    nullptr};
  return problem_event(error, language);
}

}  // namespace

LeaseStream::LeaseStream(service::Service& service, net::Responder responder, wire::Language language,
                         bool local, std::function<Result<void>()> may_go_on)
    : service_(service),
      responder_(std::move(responder)),
      language_(language),
      local_(local),
      may_go_on_(std::move(may_go_on)) {}

service::LeaseHolder LeaseStream::holder() {
  return {[self = shared_from_this()] { self->update(); }, local_};
}

void LeaseStream::begin(const Result<service::HeldLease>& lease) {
  if (!lease) {
    responder_.send(problem_response(lease.error(), language_));
    return;
  }
  auto view = service_.lease_view(*lease, language_);
  net::Response head;
  head.headers.set("Content-Type", "text/event-stream");
  head.headers.set("Cache-Control", "no-store");
  if (view) {
    view->token = lease->token;
    head.body = event_of(*view);
  }
  {
    const std::lock_guard lock(mutex_);
    lease_ = *lease;
    lease_->token.clear();
    writer_ = responder_.stream(std::move(head));
    writer_->on_cancel([self = shared_from_this()] { self->end(); });
    if (view) {
      view->token.clear();
      last_ = event_of(*view);
    }
  }
  keep_alive();
  // What changed while the stream began, and the end of one that was over before.
  update();
}

void LeaseStream::update() {
  bool over = false;
  {
    const std::lock_guard lock(mutex_);
    send_locked(over);
  }
  if (over) end();
}

void LeaseStream::send_locked(bool& over) {
  if (!writer_ || !lease_) return;
  const auto view = service_.lease_view(*lease_, language_);
  over = !view || view->job.state == JobState::kEnded;
  if (!view) {
    (void)writer_->write(taken_up(language_));
    return;
  }
  std::string event = event_of(*view);
  if (event == last_) return;
  switch (writer_->write(event)) {
    case net::StreamWriter::Status::kTaken:
      last_ = std::move(event);
      break;
    case net::StreamWriter::Status::kFull:
      // The reader is slow, and wants to know how things are then, not how they were.
      over = false;
      writer_->on_writable([self = shared_from_this()] { self->update(); });
      break;
    case net::StreamWriter::Status::kClosed:
      over = true;
      break;
  }
}

void LeaseStream::keep_alive() {
  service_.call_after(kKeepAlive, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const Result<void> allowed = self->may_go_on_();
    {
      const std::lock_guard lock(self->mutex_);
      if (!self->writer_) return;
      // One that is full is being read too slowly, which is not dead.
      (void)self->writer_->write(allowed ? std::string(kNothing)
                                         : problem_event(allowed.error(), self->language_));
    }
    if (!allowed) return self->end();
    self->keep_alive();
  });
}

void LeaseStream::end() {
  std::optional<net::StreamWriter> writer;
  std::optional<service::HeldLease> lease;
  {
    const std::lock_guard lock(mutex_);
    writer.swap(writer_);
    lease.swap(lease_);
  }
  if (lease) service_.let_go(*lease);
  if (writer) writer->finish();
}

}  // namespace tangram::server

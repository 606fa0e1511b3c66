#include "net/exchange.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/secret_text.h"
#include "net/problem.h"

namespace tangram::net {
namespace {

constexpr std::size_t kPathShownMax = 16;

// Enough of a path to find the handler. What a client puts behind it is its own.
std::string shown(std::string_view whole) {
  const std::string path = without_secrets(whole);
  std::size_t end = 0;
  for (int segments = 0; segments < 2 && end < path.size(); ++segments) {
    end = std::min(path.find('/', end + 1), path.size());
  }
  end = std::min(end, kPathShownMax);
  return path.substr(0, end) + (end < path.size() ? "…" : "");
}

}  // namespace

// A callback that is dropped may hold the last handle to this very exchange, whose end takes the lock. So
// callbacks are always moved out and destroyed without the lock.

Exchange::Exchange(Request request, std::size_t buffer_bytes_max, std::shared_ptr<HandlerPool> pool,
                   std::string lane, std::function<void()> wake)
    : request_(std::move(request)),
      buffer_bytes_max_(buffer_bytes_max),
      pool_(std::move(pool)),
      lane_(std::move(lane)),
      wake_(std::move(wake)) {}

void Exchange::notify() {
  if (wake_) wake_();
}

void Exchange::call(std::function<void()>& callback) {
  if (callback) pool_->submit(lane_, std::exchange(callback, nullptr));
}

void Exchange::set_head(Response head) {
  if (on_answer_) on_answer_(head.status);
  head_ = std::move(head);
}

void Exchange::send(Response response) {
  std::function<void()> dropped;
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kOpen) {
    log::error("http: second answer to " + shown(request_.path) + " dropped");
    return;
  }
  phase_ = Phase::kFinished;
  set_head(std::move(response));
  dropped.swap(on_cancel_);
  notify();
}

bool Exchange::start_stream(Response head) {
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kOpen) {
    log::error("http: second answer to " + shown(request_.path) + " dropped");
    return false;
  }
  phase_ = Phase::kStreaming;
  buffer_ = std::exchange(head.body, {});
  set_head(std::move(head));
  notify();
  return true;
}

StreamWriter::Status Exchange::write(std::string_view chunk) {
  const std::lock_guard lock(mutex_);
  if (closed_ || phase_ != Phase::kStreaming) return StreamWriter::Status::kClosed;
  if (!buffer_.empty() && buffer_.size() + chunk.size() > buffer_bytes_max_)
    return StreamWriter::Status::kFull;
  buffer_.append(chunk);
  notify();
  return StreamWriter::Status::kTaken;
}

void Exchange::on_writable(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  on_writable_.swap(callback);
  if (closed_ || phase_ != Phase::kStreaming || buffer_.empty()) call(on_writable_);
}

void Exchange::on_cancel(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kFinished) return;
  on_cancel_.swap(callback);
  if (cancelled_ || closed_) call(on_cancel_);
}

void Exchange::on_answer(std::function<void(int)> callback) {
  const std::lock_guard lock(mutex_);
  on_answer_ = std::move(callback);
}

void Exchange::finish(bool whole) {
  std::function<void()> dropped_cancel;
  std::function<void()> dropped_writable;
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kStreaming) return;
  phase_ = Phase::kFinished;
  whole_ = whole;
  dropped_cancel.swap(on_cancel_);
  dropped_writable.swap(on_writable_);
  notify();
}

bool Exchange::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_ || phase_ != Phase::kStreaming;
}

void Exchange::fail_unanswered(std::string_view why) {
  std::function<void()> dropped;
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kOpen) return;
  phase_ = Phase::kFinished;
  dropped.swap(on_cancel_);
  if (closed_) return;
  log::error("http: " + std::string(to_string(request_.method)) + " " + shown(request_.path) + ": " +
             std::string(why));
  set_head(problem(500, "internal", "the server failed to answer this request", "see the log of the daemon"));
  notify();
}

Exchange::Output Exchange::take() {
  const std::lock_guard lock(mutex_);
  Output output;
  output.head = std::exchange(head_, std::nullopt);
  output.stream = phase_ == Phase::kStreaming || !buffer_.empty();
  output.data = std::exchange(buffer_, {});
  output.finished = phase_ == Phase::kFinished;
  output.whole = whole_;
  if (!output.data.empty()) call(on_writable_);
  return output;
}

void Exchange::cancel() {
  const std::lock_guard lock(mutex_);
  if (cancelled_) return;
  cancelled_ = true;
  call(on_cancel_);
}

void Exchange::close() {
  std::function<void()> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  cancelled_ = true;
  dropped.swap(wake_);
  call(on_cancel_);
  call(on_writable_);
}

// ---- the handles

struct Responder::Impl {
  std::shared_ptr<Exchange> exchange;

  explicit Impl(std::shared_ptr<Exchange> of) : exchange(std::move(of)) {}
  ~Impl() { exchange->fail_unanswered("the handler let go of the request without an answer"); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

struct StreamWriter::Impl {
  std::shared_ptr<Exchange> exchange;  // none: the request was answered before

  explicit Impl(std::shared_ptr<Exchange> of) : exchange(std::move(of)) {}
  ~Impl() {
    if (exchange) exchange->finish();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

Responder make_responder(std::shared_ptr<Exchange> exchange) {
  return Responder(std::make_shared<Responder::Impl>(std::move(exchange)));
}

void Responder::send(Response response) {
  impl_->exchange->send(std::move(response));
}

StreamWriter Responder::stream(Response head) {
  const bool started = impl_->exchange->start_stream(std::move(head));
  return StreamWriter(std::make_shared<StreamWriter::Impl>(started ? impl_->exchange : nullptr));
}

void Responder::on_cancel(std::function<void()> callback) {
  impl_->exchange->on_cancel(std::move(callback));
}

void Responder::on_answer(std::function<void(int)> callback) {
  impl_->exchange->on_answer(std::move(callback));
}

StreamWriter::Status StreamWriter::write(std::string_view chunk) {
  return impl_->exchange ? impl_->exchange->write(chunk) : Status::kClosed;
}

void StreamWriter::on_writable(std::function<void()> callback) {
  if (impl_->exchange) impl_->exchange->on_writable(std::move(callback));
}

void StreamWriter::on_cancel(std::function<void()> callback) {
  if (impl_->exchange) impl_->exchange->on_cancel(std::move(callback));
}

void StreamWriter::finish() {
  if (impl_->exchange) impl_->exchange->finish();
}

void StreamWriter::break_off() {
  if (impl_->exchange) impl_->exchange->finish(false);
}

bool StreamWriter::closed() const {
  return !impl_->exchange || impl_->exchange->closed();
}

}  // namespace tangram::net

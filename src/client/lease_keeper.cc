#include "client/lease_keeper.h"

#include <algorithm>
#include <utility>

#include "client/patience.h"

namespace tangram::client {
namespace {

using std::chrono::milliseconds;

// The daemon gives a holder ten seconds after it has come back; every two seconds is often enough to be in
// time, whatever it asks for.
constexpr milliseconds kRestLeast{500};
constexpr milliseconds kRestMost{2'000};

// Whether the service has said something about the lease itself, so that trying again is of no use.
bool is_final(const Error& error) {
  if (error.reason.starts_with("client.")) return false;  // it was not reached
  switch (error.code) {
    case Code::kResourceExhausted:
    case Code::kInternal:
    case Code::kDataLoss:
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return false;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
    case Code::kFailedPrecondition:
    case Code::kPolicyRefused:
    case Code::kNotNow:
    case Code::kAborted:
    case Code::kUnimplemented:
      return true;
  }
  return false;
}

}  // namespace

LeaseKeeper::LeaseKeeper(ApiClient& api, wire::LeaseRequest request, Listener on_change)
    : api_(api), request_(std::move(request)), on_change_(std::move(on_change)) {}

Result<std::unique_ptr<LeaseKeeper>> LeaseKeeper::ask(ApiClient& api, const wire::LeaseRequest& request,
                                                      Listener on_change) {
  std::unique_ptr<LeaseKeeper> keeper(new LeaseKeeper(api, request, std::move(on_change)));
  keeper->thread_ = std::thread([self = keeper.get()] { self->run(); });
  std::unique_lock lock(keeper->mutex_);
  keeper->changed_.wait(lock, [&] { return keeper->begun_ || keeper->refused_; });
  const std::optional<Error>& refused = keeper->refused_;
  if (refused) return fail(*refused);
  lock.unlock();
  return keeper;
}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  interrupt_.raise();
  if (thread_.joinable()) thread_.join();
}

void LeaseKeeper::run() {
  Result<void> ended =
      api_.lease(request_, &interrupt_, [this](const wire::LeaseView& view) { return on_event(view); });
  {
    const std::lock_guard lock(mutex_);
    if (!begun_) {
      refused_ = ended ? Error{Code::kUnavailable,
                               "client.connection_lost",
                               "the server went away before it gave an answer",
                               "try again",
                               {},
                               nullptr}
                       : ended.error();
      changed_.notify_all();
      return;
    }
  }
  while (true) {
    on_break(ended);
    if (news().over() || !rest(ended)) return;
    ended = api_.hold(news().view.job.id, token_, &interrupt_,
                      [this](const wire::LeaseView& view) { return on_event(view); });
  }
}

bool LeaseKeeper::on_event(wire::LeaseView view) {
  std::string token = std::exchange(view.token, {});
  const bool over = view.job.state == JobState::kEnded;
  change([&](LeaseNews& news) {
    if (!token.empty()) token_.token = std::move(token);
    news.view = std::move(view);
    news.connected = true;
    begun_ = true;
  });
  return !over;
}

void LeaseKeeper::on_break(const Result<void>& ended) {
  if (interrupt_.raised() || news().over()) return;
  if (!ended && is_final(ended.error())) {
    look_at_the_end(ended.error());
    return;
  }
  if (news().connected) change([](LeaseNews& news) { news.connected = false; });
}

void LeaseKeeper::look_at_the_end(const Error& error) {
  const Result<wire::JobView> job = api_.job(news().view.job.id);
  change([&](LeaseNews& news) {
    news.connected = false;
    if (job && job->state == JobState::kEnded) {
      news.view.job = *job;
    } else {
      news.lost = error;
    }
  });
}

void LeaseKeeper::change(const std::function<void(LeaseNews&)>& how) {
  LeaseNews news;
  {
    const std::lock_guard lock(mutex_);
    how(news_);
    news = news_;
    changed_.notify_all();
  }
  if (on_change_) on_change_(news);
}

bool LeaseKeeper::rest(const Result<void>& ended) {
  milliseconds time = kRestLeast;
  if (!ended) time = std::clamp(rest_after(ended.error(), system_random()), kRestLeast, kRestMost);
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [&] { return stopping_; });
}

LeaseNews LeaseKeeper::news() const {
  const std::lock_guard lock(mutex_);
  return news_;
}

LeaseNews LeaseKeeper::wait_for(const std::function<bool(const LeaseNews&)>& condition,
                                std::optional<milliseconds> timeout) const {
  std::unique_lock lock(mutex_);
  const auto holds = [&] { return condition(news_); };
  if (timeout) {
    changed_.wait_for(lock, *timeout, holds);
  } else {
    changed_.wait(lock, holds);
  }
  return news_;
}

LeaseNews LeaseKeeper::wait_given(std::optional<milliseconds> timeout) const {
  return wait_for(
      [](const LeaseNews& news) { return news.over() || news.view.job.state == JobState::kRunning; },
      timeout);
}

LeaseNews LeaseKeeper::wait_over(std::optional<milliseconds> timeout) const {
  return wait_for([](const LeaseNews& news) { return news.over(); }, timeout);
}

Result<wire::JobView> LeaseKeeper::release() {
  std::unique_lock lock(mutex_);
  if (news_.over()) return news_.view.job;
  const std::string job = news_.view.job.id;
  const wire::LeaseToken token = token_;
  lock.unlock();
  Result<wire::JobView> released = api_.release(job, token);
  if (!released && released.error().reason == "job.ended") released = api_.job(job);
  if (!released) return released;
  lock.lock();
  // The stream will say the same; whoever asks before that must not be told that the lease is held.
  news_.view.job = *released;
  changed_.notify_all();
  return released;
}

}  // namespace tangram::client

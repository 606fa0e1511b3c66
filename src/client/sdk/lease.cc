#include <utility>

#include "client/sdk/convert.h"
#include "client/sdk/impl.h"

namespace tangram::api {
namespace {

using client::LeaseKeeper;
using client::to_api;

// A lease that ended before it was given.
Error ended_early(const client::LeaseNews& news) {
  if (news.lost) return to_api(*news.lost);
  const wire::JobView& job = news.view.job;
  std::string message = "lease " + job.id + " has ended before it was given";
  if (!job.message.empty()) message += ": " + job.message;
  return {ErrorCode::kAborted, "lease.ended", std::move(message), "ask for it again"};
}

// The reason that a lease waited for when the time was over.
Error not_in_time(const client::LeaseNews& news) {
  const wire::JobView& job = news.view.job;
  if (!news.connected) {
    return {ErrorCode::kUnavailable, "client.unreachable",
            "the daemon went away while lease " + job.id + " waited", "ask for it again"};
  }
  if (!job.reason) {
    return {ErrorCode::kNotNow, "lease.timeout", "lease " + job.id + " was not given in time",
            "allow more time"};
  }
  return {ErrorCode::kNotNow, job.reason->code, job.reason->message, job.reason->hint};
}

}  // namespace

Result<Lease> Client::allocate(const LeaseRequest& request, std::optional<milliseconds> timeout,
                               LeaseHandler on_change) const {
  LeaseKeeper::Listener listener;
  if (on_change) {
    listener = [handler = std::move(on_change)](const client::LeaseNews& news) { handler(to_api(news)); };
  }
  auto keeper = LeaseKeeper::ask(impl_->http, client::to_wire(request), std::move(listener));
  if (!keeper) return to_api(keeper.error());
  const client::LeaseNews news = (*keeper)->wait_given(timeout);
  if (!news.over() && news.view.job.state != tangram::JobState::kRunning) {
    // What is given at the last moment goes back as well.
    (void)(*keeper)->release();
    return not_in_time(news);
  }
  if (news.over()) return ended_early(news);
  auto impl = std::make_unique<Lease::Impl>();
  impl->client = impl_;
  impl->keeper = std::move(*keeper);
  return Lease(std::move(impl));
}

Lease::Lease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  const Lease old(std::move(*this));
  impl_ = std::move(other.impl_);
  return *this;
}

Lease::~Lease() {
  if (impl_) (void)impl_->keeper->release();
}

std::string Lease::id() const {
  return impl_->keeper->news().view.job.id;
}

std::vector<std::uint32_t> Lease::npus() const {
  return impl_->keeper->news().view.job.npus;
}

std::string Lease::visible_devices() const {
  std::string text;
  for (const std::uint32_t npu : npus()) text += (text.empty() ? "" : ",") + std::to_string(npu);
  return text;
}

LeaseNews Lease::news() const {
  return to_api(impl_->keeper->news());
}

LeaseNews Lease::wait_ended(std::optional<milliseconds> timeout) const {
  return to_api(impl_->keeper->wait_over(timeout));
}

Result<void> Lease::release() {
  const auto released = impl_->keeper->release();
  if (!released) return to_api(released.error());
  return {};
}

}  // namespace tangram::api

#include "service/waiters.h"

namespace tangram::service {

std::uint64_t Waiters::add(JobId job, Call call) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t ticket = next_++;
  calls_.emplace(std::pair{job, ticket}, std::move(call));
  return ticket;
}

Waiters::Call Waiters::remove(JobId job, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find({job, ticket});
  if (found == calls_.end()) return {};
  Call call = std::move(found->second);
  calls_.erase(found);
  return call;
}

std::vector<Waiters::Call> Waiters::take(JobId job) {
  const std::lock_guard lock(mutex_);
  std::vector<Call> taken;
  auto at = calls_.lower_bound({job, 0});
  while (at != calls_.end() && at->first.first == job) {
    taken.push_back(std::move(at->second));
    at = calls_.erase(at);
  }
  return taken;
}

std::vector<Waiters::Call> Waiters::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<Call> taken;
  taken.reserve(calls_.size());
  for (auto& [key, call] : calls_) taken.push_back(std::move(call));
  calls_.clear();
  return taken;
}

}  // namespace tangram::service

#include "service/timer.h"

namespace tangram::service {

Timer::Timer(Pace pace) : pace_(std::move(pace)) {
  if (pace_.threads) thread_ = std::thread([this] { run(); });
}

Timer::~Timer() {
  stop();
}

Timer::Handle Timer::after(std::chrono::milliseconds delay, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  const Handle handle{pace_.now() + delay, next_++};
  if (stopping_) return handle;
  calls_.emplace(handle, std::move(call));
  changed_.notify_one();
  return handle;
}

void Timer::cancel(Handle handle) {
  std::function<void()> dropped;  // destroyed outside the lock: it may own anything
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(handle);
  if (found == calls_.end()) return;
  dropped = std::move(found->second);
  calls_.erase(found);
}

void Timer::stop() {
  std::map<Handle, std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(calls_);
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

std::function<void()> Timer::take_first_locked() {
  const auto first = calls_.begin();
  auto call = std::move(first->second);
  calls_.erase(first);
  return call;
}

bool Timer::step() {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    if (calls_.empty() || calls_.begin()->first.first > pace_.now()) return false;
    call = take_first_locked();
  }
  call();
  return true;
}

void Timer::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (calls_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto due = calls_.begin()->first.first;
    if (due > pace_.now()) {
      changed_.wait_until(lock, due);
      continue;
    }
    auto call = take_first_locked();
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
  }
}

}  // namespace tangram::service

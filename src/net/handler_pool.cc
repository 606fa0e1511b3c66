#include "net/handler_pool.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace tangram::net {

HandlerPool::HandlerPool(std::size_t threads) : per_lane_max_(std::max<std::size_t>(threads, 2) - 1) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

HandlerPool::~HandlerPool() {
  finish();
}

void HandlerPool::submit(const std::string& lane, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (finishing_) return;
  Lane& mine = lanes_[lane];
  if (mine.tasks.empty()) turns_.push_back(lane);
  mine.tasks.push_back(std::move(task));
  wake_.notify_one();
}

void HandlerPool::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::map<std::string, HandlerPool::Lane>::iterator HandlerPool::next_lane() {
  for (auto turn = turns_.begin(); turn != turns_.end(); ++turn) {
    const auto lane = lanes_.find(*turn);
    if (lane->second.running >= per_lane_max_) continue;
    turns_.erase(turn);
    return lane;
  }
  return lanes_.end();
}

void HandlerPool::run() {
  name_this_thread("handler");
  take_short_turns();
  std::unique_lock lock(mutex_);
  while (true) {
    auto lane = next_lane();
    if (lane == lanes_.end()) {
      if (finishing_ && turns_.empty()) return;
      wake_.wait(lock);
      continue;
    }
    std::function<void()> task = std::move(lane->second.tasks.front());
    lane->second.tasks.pop_front();
    if (!lane->second.tasks.empty()) turns_.push_back(lane->first);
    ++lane->second.running;
    lock.unlock();
    try {
      task();
    } catch (const std::exception& error) {
      log::error(std::string("http: a callback threw: ") + error.what());
    } catch (...) {
      log::error("http: a callback threw something unknown");
    }
    task = nullptr;  // what it held may take locks when it goes
    lock.lock();
    // The lane stays in the map while it has a task running, so the iterator is good.
    if (--lane->second.running == 0 && lane->second.tasks.empty()) lanes_.erase(lane);
    if (finishing_) wake_.notify_all();
  }
}

}  // namespace tangram::net

#include "net/handler_pool.h"

#include <exception>
#include <string>
#include <utility>

#include "base/log.h"

namespace tangram::net {

HandlerPool::HandlerPool(std::size_t threads) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

HandlerPool::~HandlerPool() {
  finish();
}

void HandlerPool::submit(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (finishing_) return;
  tasks_.push_back(std::move(task));
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

void HandlerPool::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return finishing_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
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
  }
}

}  // namespace tangram::net

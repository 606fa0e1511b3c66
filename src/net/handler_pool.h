// A few threads that run handlers and callbacks. The queue needs no bound of its own: each connection has at
// most one request in work, and connections are bounded.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tangram::net {

// Thread-safe.
class HandlerPool {
 public:
  explicit HandlerPool(std::size_t threads);
  ~HandlerPool();  // finish()
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // After finish() the task is dropped: there is no one left to answer.
  void submit(std::function<void()> task);

  // Runs what is queued, then ends the threads. Not from a task.
  void finish();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool finishing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::net

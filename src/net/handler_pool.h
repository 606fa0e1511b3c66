// A few threads that run handlers and callbacks. Tasks stand in lanes, one for each share of callers, and the
// lanes take turns; no lane may hold every thread. So whoever asks much waits for himself. The queues need no
// bound of their own: each connection has at most one request in work, and connections are bounded.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
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
  void submit(const std::string& lane, std::function<void()> task);

  // Runs what is queued, then ends the threads. Not from a task.
  void finish();

 private:
  struct Lane {
    std::deque<std::function<void()>> tasks;
    std::size_t running = 0;
  };

  void run();
  // The next lane whose turn it is, taken out of its place; end() when there is nothing to do now.
  std::map<std::string, Lane>::iterator next_lane();

  const std::size_t per_lane_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Lane> lanes_;  // those with tasks, waiting or running
  std::deque<std::string> turns_;      // lanes with waiting tasks, in their order
  bool finishing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::net

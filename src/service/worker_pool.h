// A few threads for work that may block: spawning supervisors, removing directories.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tangram::service {

// Thread-safe. Work starts in the order of post().
class WorkerPool {
 public:
  // 0: what is posted waits for step().
  explicit WorkerPool(std::size_t threads);
  ~WorkerPool();  // stop()
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void post(std::function<void()> work);
  // Waits for what runs; what has not started is dropped, and so is everything posted later.
  void stop();

  // Without threads: does what was posted first. False: nothing was.
  bool step();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::service

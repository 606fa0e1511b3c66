// Calls functions later, on one thread: deadlines of long polls, retries, periodic sweeps.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "service/pace.h"

namespace tangram::service {

// Thread-safe. Functions must be short, and may add or cancel timers themselves.
class Timer {
 public:
  using Handle = std::pair<Pace::Time, std::uint64_t>;

  explicit Timer(Pace pace = {});
  ~Timer();  // stop()
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  Handle after(std::chrono::milliseconds delay, std::function<void()> call);
  // Does nothing if it has run already or is running.
  void cancel(Handle handle);
  // What has not run yet never will. Not from a timer's function.
  void stop();

  // Without a thread: calls what is due first. False: nothing is.
  bool step();

 private:
  void run();
  std::function<void()> take_first_locked();

  const Pace pace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Handle, std::function<void()>> calls_;
  std::uint64_t next_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::service

// Ends blocking calls of HttpClient from another thread.
#pragma once

#include <atomic>

namespace tangram::net {

// Thread-safe.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Every call that waits with it, now or later, fails with kAborted "client.interrupted". For good.
  void raise();
  bool raised() const { return raised_; }

  // Readable once it is raised: for poll(2). Below 0 when the process has no descriptor left; calls then end
  // at their own deadlines only.
  int fd() const { return fd_; }

 private:
  const int fd_;
  std::atomic<bool> raised_ = false;
};

}  // namespace tangram::net

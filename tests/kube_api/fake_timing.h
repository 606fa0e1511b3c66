// A clock that a test moves, and rests that cost no time: each moves the clock by its length, and is written
// down.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "kube/api/timing.h"

namespace tangram::kube {

class FakeTiming final : public Timing {
 public:
  Milliseconds now() override { return Milliseconds(now_ms_.load()); }
  std::chrono::system_clock::time_point wall() override {
    return std::chrono::system_clock::time_point(std::chrono::seconds(1'772'366'400) + now());
  }
  double jitter() override { return jitter_; }
  bool rest(Milliseconds time, const net::Interrupt* interrupt) override {
    {
      const std::lock_guard lock(mutex_);
      rests_.push_back(time);
    }
    advance(time);
    std::this_thread::sleep_for(
        Milliseconds(1));  // whoever rests again and again leaves the others some time
    return interrupt == nullptr || !interrupt->raised();
  }

  void advance(Milliseconds time) { now_ms_ += time.count(); }
  void set_jitter(double jitter) { jitter_ = jitter; }
  std::vector<Milliseconds> rests() const {
    const std::lock_guard lock(mutex_);
    return rests_;
  }

 private:
  std::atomic<std::int64_t> now_ms_ = 1'000'000;
  std::atomic<double> jitter_ = 0.0;
  mutable std::mutex mutex_;
  std::vector<Milliseconds> rests_;
};

}  // namespace tangram::kube

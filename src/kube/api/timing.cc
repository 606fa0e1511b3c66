#include "kube/api/timing.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <random>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

class SystemTiming final : public Timing {
 public:
  Milliseconds now() override {
    timespec at{};
    clock_gettime(CLOCK_BOOTTIME, &at);
    return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(at.tv_sec) +
                                                    std::chrono::nanoseconds(at.tv_nsec));
  }

  std::chrono::system_clock::time_point wall() override { return std::chrono::system_clock::now(); }

  double jitter() override {
    const std::lock_guard lock(mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_);
  }

  bool rest(Milliseconds time, const net::Interrupt* interrupt) override {
    const Milliseconds end = now() + time;
    while (true) {
      if (interrupt != nullptr && interrupt->raised()) return false;
      const Milliseconds left = end - now();
      if (left.count() <= 0) return true;
      // A descriptor below 0 is passed over. No longer than a second at once: poll(2) does not count the time
      // in which the machine is suspended.
      pollfd watched{interrupt != nullptr ? interrupt->fd() : -1, POLLIN, 0};
      (void)poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1'000)));
    }
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace

std::shared_ptr<Timing> system_timing() {
  static const auto timing = std::make_shared<SystemTiming>();
  return timing;
}

std::string micro_time(std::chrono::system_clock::time_point at) {
  using std::chrono::microseconds;
  const auto since = std::chrono::floor<microseconds>(at.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t whole = seconds.count();
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 16> fraction{};
  (void)std::snprintf(fraction.data(), fraction.size(), ".%06dZ",
                      static_cast<int>((since - seconds).count()));
  return std::string(text.data()) + fraction.data();
}

}  // namespace tangram::kube

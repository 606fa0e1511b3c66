// How many requests a second each caller may make: one token bucket for each share of callers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tangram::server {

// So many jobs of a batch count as one request more.
inline constexpr std::int64_t kJobsPerRequest = 20;

struct Rate {
  std::int64_t per_second = 100;
  std::int64_t burst = 200;  // so many at once after a rest
};

// Thread-safe; no call waits for more than a few instructions of another.
class RateLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RateLimiter(Rate rate) : rate_(rate) {}

  // One request. Absent: it may go ahead; else so long until the next one may.
  std::optional<std::chrono::milliseconds> take(const std::string& share,
                                                Clock::time_point now = Clock::now());

  // What a request costs beyond one, known only once it was read: later ones wait for it.
  void charge(const std::string& share, std::int64_t requests, Clock::time_point now = Clock::now());

  const Rate& rate() const { return rate_; }
  std::size_t callers() const;  // that are remembered

 private:
  // In thousandths of a request; below zero after a charge.
  struct Bucket {
    std::int64_t level = 0;
    Clock::time_point at;
  };

  Bucket& bucket(const std::string& share, Clock::time_point now);
  void drop_full_ones(Clock::time_point now);

  const Rate rate_;
  mutable std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace tangram::server

// What share of the last second an engine was busy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ascendsim {

// Intervals come in ascending order and do not overlap. Memory is constant, however short the tasks are.
class BusyMeter {
 public:
  static constexpr std::uint64_t kWindowNs = 1'000'000'000;

  // The engine is busy in [start, end); `end` may lie in the future.
  void add(std::uint64_t start_ns, std::uint64_t end_ns);
  // The latest interval ends earlier than said: its task was reset.
  void cut(std::uint64_t end_ns);
  std::uint32_t percent(std::uint64_t now_ns) const;

 private:
  static constexpr std::size_t kBuckets = 64;
  static constexpr std::uint64_t kBucketNs = kWindowNs / 50;

  void settle(std::uint64_t start_ns, std::uint64_t end_ns);

  struct Bucket {
    std::uint64_t number = 0;  // which 20 ms since the epoch of the clock
    std::uint64_t busy_ns = 0;
  };
  std::array<Bucket, kBuckets> buckets_{};
  std::uint64_t latest_start_ns_ = 0;  // not in the buckets yet
  std::uint64_t latest_end_ns_ = 0;
};

}  // namespace ascendsim

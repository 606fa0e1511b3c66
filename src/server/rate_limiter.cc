#include "server/rate_limiter.h"

#include <algorithm>

namespace tangram::server {
namespace {

constexpr std::int64_t kOne = 1'000;
// A full bucket is as good as none. They are looked for when there are more than so many.
constexpr std::size_t kBucketsBeforeCleaning = 1'024;

std::int64_t milliseconds_between(RateLimiter::Clock::time_point from, RateLimiter::Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

}  // namespace

RateLimiter::Bucket& RateLimiter::bucket(const std::string& share, Clock::time_point now) {
  const std::int64_t full = rate_.burst * kOne;
  auto found = buckets_.find(share);
  if (found == buckets_.end()) {
    if (buckets_.size() >= kBucketsBeforeCleaning) drop_full_ones(now);
    return buckets_.emplace(share, Bucket{full, now}).first->second;
  }
  Bucket& bucket = found->second;
  // per_second requests a second are as many thousandths a millisecond. What is less than one is kept for
  // later.
  const std::int64_t passed = milliseconds_between(bucket.at, now);
  if (passed > 0) {
    const std::int64_t enough = (full - bucket.level) / rate_.per_second + 1;
    bucket.level = std::min(full, bucket.level + std::min(passed, enough) * rate_.per_second);
    bucket.at += std::chrono::milliseconds(passed);
  }
  return bucket;
}

void RateLimiter::drop_full_ones(Clock::time_point now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    const Bucket& bucket = entry.second;
    const std::int64_t missing = rate_.burst * kOne - bucket.level;
    return milliseconds_between(bucket.at, now) >= missing / rate_.per_second + 1;
  });
}

std::optional<std::chrono::milliseconds> RateLimiter::take(const std::string& share, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Bucket& mine = bucket(share, now);
  if (mine.level >= kOne) {
    mine.level -= kOne;
    return std::nullopt;
  }
  return std::chrono::milliseconds((kOne - mine.level + rate_.per_second - 1) / rate_.per_second);
}

std::size_t RateLimiter::callers() const {
  const std::lock_guard lock(mutex_);
  return buckets_.size();
}

void RateLimiter::charge(const std::string& share, std::int64_t requests, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  bucket(share, now).level -= requests * kOne;
}

}  // namespace tangram::server

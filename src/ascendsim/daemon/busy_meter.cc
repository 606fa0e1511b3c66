#include "ascendsim/daemon/busy_meter.h"

#include <algorithm>

namespace ascendsim {

void BusyMeter::add(std::uint64_t start_ns, std::uint64_t end_ns) {
  settle(latest_start_ns_, latest_end_ns_);
  latest_start_ns_ = start_ns;
  latest_end_ns_ = end_ns;
}

void BusyMeter::cut(std::uint64_t end_ns) {
  latest_end_ns_ = std::max(latest_start_ns_, std::min(latest_end_ns_, end_ns));
}

void BusyMeter::settle(std::uint64_t start_ns, std::uint64_t end_ns) {
  // What lies further back than all buckets together would only be overwritten.
  const std::uint64_t span_ns = kBucketNs * (kBuckets - 1);
  if (end_ns > span_ns) start_ns = std::max(start_ns, end_ns - span_ns);
  while (start_ns < end_ns) {
    const std::uint64_t number = start_ns / kBucketNs;
    const std::uint64_t until_ns = std::min(end_ns, (number + 1) * kBucketNs);
    Bucket& bucket = buckets_[number % kBuckets];
    if (bucket.number != number) bucket = {number, 0};
    bucket.busy_ns += until_ns - start_ns;
    start_ns = until_ns;
  }
}

std::uint32_t BusyMeter::percent(std::uint64_t now_ns) const {
  const std::uint64_t from_ns = now_ns > kWindowNs ? now_ns - kWindowNs : 0;
  const std::uint64_t first = from_ns / kBucketNs;
  const std::uint64_t last = now_ns / kBucketNs;
  std::uint64_t busy_ns = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.number > first && bucket.number <= last) busy_ns += bucket.busy_ns;
  }
  const std::uint64_t start_ns = std::max(latest_start_ns_, from_ns);
  const std::uint64_t end_ns = std::min(latest_end_ns_, now_ns);
  if (start_ns < end_ns) busy_ns += end_ns - start_ns;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(100, (busy_ns * 100 + kWindowNs / 2) / kWindowNs));
}

}  // namespace ascendsim

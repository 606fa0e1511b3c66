#include "kube/api/token_bucket.h"

#include <algorithm>

namespace tangram::kube {

using std::chrono::milliseconds;

TokenBucket::TokenBucket(std::int64_t burst, milliseconds every, milliseconds now)
    : burst_(burst), every_(every), tokens_(burst), filled_(now) {}

void TokenBucket::fill(milliseconds now) {
  const std::int64_t come = (now - filled_) / every_;
  if (come <= 0) return;
  tokens_ = std::min(burst_, tokens_ + come);
  filled_ = tokens_ == burst_ ? now : filled_ + every_ * come;
}

bool TokenBucket::take(milliseconds now) {
  fill(now);
  if (tokens_ == 0) return false;
  if (tokens_ == burst_) filled_ = now;
  --tokens_;
  return true;
}

milliseconds TokenBucket::wait(milliseconds now) const {
  if (tokens_ > 0) return milliseconds(0);
  return std::max(filled_ + every_ - now, milliseconds(0));
}

}  // namespace tangram::kube

#include "kube/api/backoff.h"

#include <algorithm>
#include <cstdint>

namespace tangram::kube {

std::chrono::milliseconds Backoff::next(std::chrono::milliseconds at_least) {
  using std::chrono::milliseconds;
  const milliseconds now = timing_.now();
  if (step_.count() > 0 && now - until_ >= limits_.calm) step_ = {};
  step_ = step_.count() == 0 ? limits_.first : std::min(step_ * 2, limits_.most);
  const milliseconds spread(static_cast<std::int64_t>(static_cast<double>(step_.count()) * timing_.jitter()));
  const milliseconds rest = std::max(step_ + spread, at_least);
  until_ = now + rest;
  return rest;
}

}  // namespace tangram::kube

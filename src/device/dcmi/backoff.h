// Patience with something whose calls hang: an NPU, or a card that cannot even say how many chips it has.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "device/dcmi_devices.h"

namespace tangram::device {

struct Backoff {
  int hangs = 0;
  std::chrono::steady_clock::time_point retry_at{};
  std::string reason;

  bool resting(std::chrono::steady_clock::time_point now) const { return hangs > 0 && now < retry_at; }

  void hung(std::string why, const DcmiOptions& options) {
    const int doublings = std::min(hangs, 16);
    ++hangs;
    const auto pause = std::min<std::chrono::milliseconds>(options.hang_backoff * (1LL << doublings),
                                                           options.hang_backoff_max);
    retry_at = std::chrono::steady_clock::now() + pause;
    reason = std::move(why) + "; asked again after " + std::to_string(pause.count()) + " ms";
  }
};

}  // namespace tangram::device

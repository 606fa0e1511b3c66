// How long to rest before the next try. Not thread-safe.
#pragma once

#include <chrono>

#include "kube/api/timing.h"

namespace tangram::kube {

struct BackoffLimits {
  std::chrono::milliseconds first{800};
  std::chrono::milliseconds most{30'000};
  // Once things went well for so long, the next trouble begins anew with `first`.
  std::chrono::milliseconds calm{120'000};
};

// Doubles from `first` to `most`; each rest is between one and two times the step, so that many clients of
// one server that came back do not return together (the same numbers as client-go's reflector).
class Backoff {
 public:
  Backoff(BackoffLimits limits, Timing& timing) : limits_(limits), timing_(timing) {}

  // The rest before the next try; at least `at_least`, which the server asked for.
  std::chrono::milliseconds next(std::chrono::milliseconds at_least = {});
  void reset() { step_ = {}; }

 private:
  const BackoffLimits limits_;
  Timing& timing_;
  std::chrono::milliseconds step_{};   // of the last rest; 0: none yet
  std::chrono::milliseconds until_{};  // when the last rest ends
};

}  // namespace tangram::kube

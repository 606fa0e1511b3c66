// What moves the parts of a service: threads of its own and the steady clock. Or one caller that makes each
// part take its next step (Service::step), in a time of the caller's: then the order of those steps is all
// that chance there is, and a seed decides it.
#pragma once

#include <chrono>
#include <functional>

namespace tangram::service {

struct Pace {
  using Time = std::chrono::steady_clock::time_point;

  bool threads = true;                                          // false: nothing happens but by step()
  std::function<Time()> now = &std::chrono::steady_clock::now;  // never goes back
};

}  // namespace tangram::service

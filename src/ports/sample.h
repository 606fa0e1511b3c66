// A reading and whether it is one: unknown is a value, never 0.
#pragma once

#include <chrono>
#include <utility>

namespace tangram {

template <class T>
struct Sample {
  T value{};
  bool valid = false;
  // When the device said so, on the machine's monotone clock. A reading that is kept while a device does not
  // answer keeps its time. The epoch: not told.
  std::chrono::steady_clock::time_point at{};

  static Sample known(T v, std::chrono::steady_clock::time_point at = {}) {
    return Sample{std::move(v), true, at};
  }
};

}  // namespace tangram

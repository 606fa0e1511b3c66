// What the extender measures of itself. Thread-safe; each call costs well under a microsecond.
#pragma once

#include <prometheus/histogram.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kube/metrics/page.h"

namespace tangram::kube::metrics {

enum class Verb : std::uint8_t { kFilter, kPrioritize, kBind };
enum class CallOutcome : std::uint8_t {
  kOk,
  kRefused,  // nothing fits, or the book says no
  kFailed,   // the scheduler has to try again
};

class ExtenderMeters {
 public:
  ExtenderMeters();

  void count(Verb verb, CallOutcome outcome, std::chrono::nanoseconds time);
  std::uint64_t calls(Verb verb, CallOutcome outcome) const;
  void add_to(Page& page) const;

 private:
  static constexpr std::size_t kVerbs = 3;
  static constexpr std::size_t kOutcomes = 3;

  std::array<std::array<std::atomic<std::uint64_t>, kOutcomes>, kVerbs> calls_{};
  std::array<std::unique_ptr<prometheus::Histogram>, kVerbs> seconds_;
};

}  // namespace tangram::kube::metrics

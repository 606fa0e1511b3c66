// The answer to "would this fit": the core's own decision about a job that nobody submits. Same rules of
// reading and writing as schema.h. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "wire/types.h"

namespace tangram::wire {

enum class FitAnswer : std::uint8_t {
  kNow,    // it would start at once
  kLater,  // it would wait
  kNever,  // it would be refused
};
std::string_view to_string(FitAnswer answer);  // "now", "later", "never"

// What is asked for. Of whole NPUs or of a slice, like a submission without a program.
struct FitView {
  FitAnswer answer = FitAnswer::kNever;
  std::string verdict;  // one sentence
  std::string tenant;
  Priority priority = Priority::kNormal;
  std::optional<std::int64_t> npus_requested;
  std::optional<Bytes> memory_per_npu;
  std::optional<SliceRequest> slice_requested;
  std::string granted;              // what it comes to and why, one sentence; empty: nothing
  std::vector<std::uint32_t> npus;  // physical ids it would get; kNow
  std::optional<SliceView> slice;   // of that NPU; absent: all of it
  std::vector<ReasonView> blockers;
  std::vector<RemedyView> remedies;
  std::optional<std::int64_t> position;
  std::int64_t queue_length = 0;
  std::optional<TimeMs> estimated_start;
  std::string assumption;

  friend bool operator==(const FitView&, const FitView&) = default;
};

std::string write(const FitView& view);
Result<FitView> read_fit_view(std::string_view json);

}  // namespace tangram::wire

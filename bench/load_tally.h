// What one stream of requests saw: latencies from the intended time, and how requests ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tangram::bench {

using Clock = std::chrono::steady_clock;

// Even slots are quiet, in odd ones the disturbing streams run as well; so both are measured in one run,
// under the same weather of the machine.
class Slots {
 public:
  // `length` zero: one endless quiet slot.
  Slots(Clock::time_point begin, Clock::duration length) : begin_(begin), length_(length) {}

  bool disturbed(Clock::time_point at) const { return number(at) % 2 == 1; }
  // The beginning of a slot is not counted: what the slot before left behind is still being worked off.
  bool settled(Clock::time_point at) const {
    return length_ == Clock::duration::zero() || (at - begin_) % length_ >= length_ / 5;
  }
  std::int64_t number(Clock::time_point at) const {
    return length_ == Clock::duration::zero() || at < begin_ ? 0 : (at - begin_) / length_;
  }
  Clock::duration length() const { return length_; }
  Clock::time_point begin() const { return begin_; }

 private:
  Clock::time_point begin_;
  Clock::duration length_;
};

class Tally {
 public:
  void add(Clock::duration latency) {
    micros_.push_back(std::chrono::duration<double, std::micro>(latency).count());
  }
  std::size_t count() const { return micros_.size(); }
  // One JSON object: count, and p50, p90, p99, max, mean in milliseconds. Reorders.
  std::string to_json();

 private:
  std::vector<double> micros_;
};

struct Outcomes {
  std::map<std::string, std::uint64_t> by_status;  // "201", "connection", …
  std::uint64_t jobs = 0;                          // accepted, by POST
  std::string first_error;
};

// In double quotes, for JSON.
std::string json_text(const std::string& text);

}  // namespace tangram::bench

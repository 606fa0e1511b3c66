// What the service measures of itself while it works. Clocks are steady and are read here, never in the core.
// Thread-safe; each call costs well under a microsecond.
#pragma once

#include <prometheus/histogram.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "model/job.h"
#include "wire/record.h"

namespace tangram::service {

// Counts begin at 0 with the daemon.
class Meters {
 public:
  Meters();

  // Durable records.
  void count(std::span<const wire::JournalRecord> records);
  void count_ended(Outcome outcome) { ++ended_[static_cast<std::size_t>(outcome)]; }
  std::uint64_t ended(Outcome outcome) const { return ended_[static_cast<std::size_t>(outcome)]; }

  prometheus::Histogram job_wait;  // all in seconds
  prometheus::Histogram decision;
  prometheus::Histogram command;
  prometheus::Histogram append;
  prometheus::Histogram sync;

  std::atomic<std::uint64_t> jobs_submitted{0};
  std::atomic<std::uint64_t> attempts_started{0};
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> append_failures{0};
  std::atomic<std::uint64_t> last_sequence{0};
  std::atomic<bool> journal_up{true};

 private:
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Outcome::kRefused) + 1> ended_{};
};

inline double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace tangram::service

// Core time: wall clock at birth plus boot time, so that a step of the wall clock never moves it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace tangram::service {

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back. Thread-safe.
  virtual TimeMs now() = 0;
  // From now on now() is at least `time`: after a restart, the last time in the journal. Thread-safe.
  virtual void continue_from(TimeMs time) = 0;
};

class SystemClock final : public Clock {
 public:
  SystemClock();
  TimeMs now() override;
  void continue_from(TimeMs time) override;

 private:
  std::atomic<std::int64_t> offset_ms_;  // added to boot time
};

}  // namespace tangram::service

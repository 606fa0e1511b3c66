#include "service/clock.h"

#include <ctime>

namespace tangram::service {
namespace {

std::int64_t read_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace

SystemClock::SystemClock() : offset_ms_(read_ms(CLOCK_REALTIME) - read_ms(CLOCK_BOOTTIME)) {}

TimeMs SystemClock::now() {
  return TimeMs(read_ms(CLOCK_BOOTTIME) + offset_ms_.load());
}

void SystemClock::continue_from(TimeMs time) {
  const std::int64_t wanted = time.value - read_ms(CLOCK_BOOTTIME);
  std::int64_t present = offset_ms_.load();
  while (present < wanted && !offset_ms_.compare_exchange_weak(present, wanted)) {
  }
}

}  // namespace tangram::service

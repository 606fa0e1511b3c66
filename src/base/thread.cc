#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace tangram {
namespace {

constexpr std::uint64_t kTurnNs = 100'000;  // the least that the kernel takes

// Of the kernel (linux/sched/types.h), which the C library does not know yet.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime_ns;
  std::uint64_t deadline_ns;
  std::uint64_t period_ns;
};

}  // namespace

void name_this_thread(const char* name) {
  (void)pthread_setname_np(pthread_self(), name);
}

void take_short_turns() {
  if (sched_getscheduler(0) != SCHED_OTHER) return;  // somebody has chosen for the whole process
  SchedulingAttributes wanted{};
  wanted.size = sizeof(wanted);
  wanted.policy = SCHED_OTHER;
  wanted.nice = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
  wanted.runtime_ns = kTurnNs;
  (void)syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace tangram

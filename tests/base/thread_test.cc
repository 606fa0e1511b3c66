#include "base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <thread>

namespace tangram {
namespace {

// Of the calling thread, in nanoseconds; 0: the kernel does not say.
std::uint64_t turn_ns() {
  std::array<std::uint64_t, 6> attributes{};  // [3] is the runtime; the kernel fills a prefix
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, attributes.data(), sizeof(attributes), 0), 0);
  return attributes[3];
}

bool kernel_takes_turns() {
  utsname kernel{};
  int major = 0;
  int minor = 0;
  EXPECT_EQ(uname(&kernel), 0);
  EXPECT_EQ(std::sscanf(kernel.release, "%d.%d", &major, &minor), 2);
  return major > 6 || (major == 6 && minor >= 12);
}

// Without this, top(1) could not tell who is busy.
TEST(Thread, IsNamed) {
  std::array<char, 16> name{};
  std::thread([&] {
    name_this_thread("network");
    EXPECT_EQ(pthread_getname_np(pthread_self(), name.data(), name.size()), 0);
  }).join();
  EXPECT_STREQ(name.data(), "network");
}

// Without this, a thread that others wait for would wait as long for the processor as one that computes, or a
// thread would lose the niceness that it had.
TEST(Thread, ShortTurnsAreOfOneThreadAndKeepItsNiceness) {
  const std::uint64_t before = turn_ns();
  std::thread([] {
    const auto self = static_cast<id_t>(gettid());
    ASSERT_EQ(setpriority(PRIO_PROCESS, self, 7), 0);
    take_short_turns();
    EXPECT_EQ(getpriority(PRIO_PROCESS, self), 7);
    if (kernel_takes_turns()) {
      EXPECT_EQ(turn_ns(), 100'000U);
    }
  }).join();
  EXPECT_EQ(turn_ns(), before);
}

}  // namespace
}  // namespace tangram

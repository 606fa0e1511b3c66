// Which container holds which device, told from the mount namespaces of living processes.
#include "ascendsim/daemon/occupancy.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace ascendsim {
namespace {

constexpr std::uint32_t kDevice = 3;
constexpr int kTries = 200;

// A process in a mount namespace of its own, for as long as the value lives.
class Container {
 public:
  Container() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char made = unshare(CLONE_NEWNS) == 0 ? 1 : 0;
      if (write(ends[1], &made, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char made = 0;
    EXPECT_EQ(read(ends[0], &made, 1), 1);
    EXPECT_EQ(made, 1) << "the test needs to be root";
    close(ends[0]);
    close(ends[1]);
  }
  ~Container() { end(); }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  MountNamespace space() const { return mount_namespace(pid_); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

// Without it a device could be opened in two containers at once.
TEST(OccupancyTest, AContainerHoldsItsDevicesUntilItsLastProcessEnds) {
  Occupancy occupancy;
  Container one;
  const Container other;
  occupancy.enter({kDevice}, one.space(), 17);
  occupancy.settle(1, 0);
  EXPECT_EQ(occupancy.holder(kDevice), 17U);
  EXPECT_TRUE(occupancy.held_by_another(kDevice, other.space()));
  EXPECT_FALSE(occupancy.held_by_another(kDevice, one.space()));
  one.end();
  occupancy.settle(2, 0);
  EXPECT_EQ(occupancy.holder(kDevice), std::nullopt);
}

// The kernel gives the number of a dead namespace to the next one. Without it a container that has nothing to
// do with the device would keep it for the dead one.
TEST(OccupancyTest, ANamespaceWithTheNumberOfADeadOneHoldsNothing) {
  for (int i = 0; i < kTries; ++i) {
    Occupancy occupancy;
    Container dead;
    const MountNamespace space = dead.space();
    occupancy.enter({kDevice}, space, 17);
    dead.end();
    const Container next;
    if (!(next.space() == space)) continue;
    occupancy.settle(1, 0);
    EXPECT_EQ(occupancy.holder(kDevice), std::nullopt);
    return;
  }
  FAIL() << "no number of a namespace came again in " << kTries << " tries";
}

}  // namespace
}  // namespace ascendsim

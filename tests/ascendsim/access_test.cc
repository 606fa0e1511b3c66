#include "ascendsim/daemon/access.h"

#include <gtest/gtest.h>

#include "ascendsim/daemon/cost.h"
#include "ascendsim/daemon/driver_tree.h"

namespace ascendsim {
namespace {

// Without this, a device cgroup would be read as more, or less, than it allows.
TEST(Access, ReadsDeviceLists) {
  EXPECT_TRUE(device_list_allows("a *:* rwm\n", 240, 3));
  EXPECT_TRUE(device_list_allows("c 1:3 rwm\nc 240:3 rwm\n", 240, 3));
  EXPECT_TRUE(device_list_allows("c 240:* rw\n", 240, 3));
  EXPECT_FALSE(device_list_allows("c 240:3 rwm\n", 240, 33));
  EXPECT_FALSE(device_list_allows("c 240:33 rwm\n", 240, 3));
  EXPECT_FALSE(device_list_allows("b 240:3 rwm\n", 240, 3)) << "a block device";
  EXPECT_FALSE(device_list_allows("c 240:3 r\n", 240, 3)) << "reading alone is not enough";
  EXPECT_FALSE(device_list_allows("c 240:3 m\n", 240, 3)) << "making the node is not opening it";
  EXPECT_FALSE(device_list_allows("", 240, 3));
  EXPECT_FALSE(device_list_allows("c 240\nnonsense\n\n", 240, 3));
}

// Without this, the nodes could take the major of a real driver, and opening one would reach that driver.
TEST(Access, TakesOnlyAMajorThatIsFree) {
  EXPECT_EQ(free_major("Character devices:\n  1 mem\n\nBlock devices:\n240 x\n", 0), 240U);
  EXPECT_EQ(free_major("Character devices:\n240 a\n241 b\n", 0), 242U);
  EXPECT_EQ(free_major("Character devices:\n240 a\n", 250), 250U) << "the one it had before";
  EXPECT_EQ(free_major("Character devices:\n250 a\n", 250), 240U) << "taken meanwhile";
  EXPECT_EQ(free_major("Character devices:\n", 10), 240U) << "not one for local use";
  std::string full = "Character devices:\n";
  for (int major = 0; major < 512; ++major) full += std::to_string(major) + " x\n";
  EXPECT_EQ(free_major(full, 0), 0U);
}

// Without this, a task whose numbers a stranger chose could wrap around and cost nothing.
TEST(Access, CostsSaturate) {
  const auto machine = parse_machine(std::string(default_machine_yaml()), "built-in");
  ASSERT_TRUE(machine);
  const ChipModel& chip = machine->npus[0].model;
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  TaskEntry task{};
  task.kind = TaskKind::kMatrix;
  task.element_bytes = 0xFFFFFFFF;
  task.work[0] = task.work[1] = task.work[2] = kMost;
  EXPECT_GT(task_cost_ns(chip, task), std::uint64_t{1} << 60);
  task.kind = TaskKind::kHostToDevice;
  EXPECT_GT(task_cost_ns(chip, task), std::uint64_t{1} << 48);
  // 2 * 4096^3 operations at 240 TFLOPS, all 20 cores busy, and the start.
  task = TaskEntry{};
  task.kind = TaskKind::kMatrix;
  task.element_bytes = 2;
  task.work[0] = task.work[1] = task.work[2] = 4096;
  EXPECT_NEAR(static_cast<double>(task_cost_ns(chip, task)), 5000 + 2.0 * 4096 * 4096 * 4096 / 240e3, 10);
}

}  // namespace
}  // namespace ascendsim

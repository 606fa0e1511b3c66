#include "ascendsim/daemon/timeline.h"

#include <gtest/gtest.h>

#include <map>

namespace ascendsim {
namespace {

struct Ending {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  Status status = Status::kOk;
};

class TimelineTest : public testing::Test {
 protected:
  TimelineTest()
      : timeline_(2, [this](ClientId, const NoticeEntry& notice) {
          if (notice.kind == NoticeKind::kStarted) {
            started_[notice.task] = notice.start_ns;
          } else {
            ended_[notice.task] = {notice.start_ns, notice.end_ns, notice.status};
          }
        }) {}

  void submit(std::uint32_t stream, std::uint64_t task, std::uint64_t at_ns, TaskKind kind,
              std::uint64_t cost_ns = 0, std::uint64_t after = 0) {
    timeline_.submit(1, stream, {task, at_ns, after, cost_ns, kind});
  }

  Timeline timeline_;
  std::map<std::uint64_t, Ending> ended_;
  std::map<std::uint64_t, std::uint64_t> started_;
};

// Without this, a late wake-up of the host would change how long work takes on the device.
TEST_F(TimelineTest, ALateWakeUpDoesNotChangeModelTime) {
  timeline_.add_stream(1, 1, 0, 0);
  submit(1, 1, 100, TaskKind::kMatrix, 50);
  submit(1, 2, 110, TaskKind::kMatrix, 50);
  submit(1, 3, 400, TaskKind::kMatrix, 50);
  EXPECT_EQ(timeline_.advance(1'000'000), Timeline::kNever);
  EXPECT_EQ(ended_[1].end_ns, 150U);
  EXPECT_EQ(ended_[2].start_ns, 150U);
  EXPECT_EQ(ended_[2].end_ns, 200U);
  EXPECT_EQ(ended_[3].start_ns, 400U);
}

// Without this, a task could be told about before its time, or the driver would sleep through its start.
TEST_F(TimelineTest, NothingStartsBeforeItsTime) {
  timeline_.add_stream(1, 1, 0, 0);
  submit(1, 1, 100, TaskKind::kMatrix, 50);
  submit(1, 2, 100, TaskKind::kMatrix, 50);
  EXPECT_EQ(timeline_.advance(99), 100U);
  EXPECT_TRUE(ended_.empty());
  EXPECT_EQ(timeline_.advance(100), 150U);
  EXPECT_EQ(ended_.count(1), 1U);
  EXPECT_EQ(ended_.count(2), 0U);
}

// Without this, copies would not run beside products, and one NPU would wait for another.
TEST_F(TimelineTest, EnginesRunBesideEachOther) {
  timeline_.add_stream(1, 1, 0, 0);
  timeline_.add_stream(1, 2, 0, 0);
  timeline_.add_stream(1, 3, 1, 0);
  submit(1, 1, 0, TaskKind::kMatrix, 100);
  submit(2, 2, 0, TaskKind::kHostToDevice, 100);
  submit(2, 3, 0, TaskKind::kDeviceToHost, 100);
  submit(3, 4, 0, TaskKind::kMatrix, 100);
  timeline_.advance(1000);
  EXPECT_EQ(ended_[1].end_ns, 100U);
  EXPECT_EQ(ended_[2].end_ns, 100U);
  EXPECT_EQ(ended_[3].end_ns, 200U) << "first in, first out inside a stream, whatever the engine";
  EXPECT_EQ(ended_[4].end_ns, 100U);
}

// Without this, priority would do nothing, or would break into a kernel that runs.
TEST_F(TimelineTest, PriorityDecidesAmongWaitingTasksOnly) {
  timeline_.add_stream(1, 1, 0, 7);
  timeline_.add_stream(1, 2, 0, 4);
  timeline_.add_stream(1, 3, 0, 0);
  submit(1, 1, 0, TaskKind::kMatrix, 100);
  submit(1, 2, 10, TaskKind::kMatrix, 100);
  submit(2, 3, 20, TaskKind::kMatrix, 100);
  submit(3, 4, 30, TaskKind::kMatrix, 100);
  submit(3, 5, 250, TaskKind::kMatrix, 100);
  timeline_.advance(10000);
  EXPECT_EQ(ended_[1].end_ns, 100U) << "a started kernel is not preempted";
  EXPECT_EQ(ended_[4].start_ns, 100U);
  EXPECT_EQ(ended_[3].start_ns, 200U) << "the most urgent one came too late";
  EXPECT_EQ(ended_[5].start_ns, 300U);
  EXPECT_EQ(ended_[2].start_ns, 400U);
}

// Without this, a stream could run ahead of the event it waits for.
TEST_F(TimelineTest, AWaitEndsWithItsMark) {
  timeline_.add_stream(1, 1, 0, 0);
  timeline_.add_stream(1, 2, 1, 0);
  submit(1, 1, 0, TaskKind::kMatrix, 500);
  submit(1, 2, 0, TaskKind::kMark);
  submit(2, 3, 0, TaskKind::kWait, 0, 2);
  submit(2, 4, 0, TaskKind::kMatrix, 10);
  timeline_.advance(10000);
  EXPECT_EQ(ended_[2].end_ns, 500U);
  EXPECT_EQ(ended_[4].start_ns, 500U);
  submit(2, 5, 600, TaskKind::kWait, 0, 2);
  timeline_.advance(10000);
  EXPECT_EQ(ended_[5].end_ns, 600U) << "a mark that has ended holds nothing up";
}

// Without this, a callback could be overtaken by the work behind it.
TEST_F(TimelineTest, AHostTaskHoldsItsStream) {
  timeline_.add_stream(1, 1, 0, 0);
  submit(1, 1, 0, TaskKind::kHost);
  submit(1, 2, 0, TaskKind::kMatrix, 10);
  EXPECT_EQ(timeline_.advance(50), Timeline::kNever);
  EXPECT_EQ(started_.count(1), 1U);
  EXPECT_EQ(ended_.count(2), 0U);
  EXPECT_FALSE(timeline_.finish_host_task(1, 2, 60));
  EXPECT_FALSE(timeline_.finish_host_task(2, 1, 60)) << "of another client";
  EXPECT_TRUE(timeline_.finish_host_task(1, 1, 60));
  EXPECT_FALSE(timeline_.finish_host_task(1, 1, 70));
  timeline_.advance(100);
  EXPECT_EQ(ended_[2].start_ns, 60U);
}

// Without this, the kernel of a dead process would hold the chip until its end.
TEST_F(TimelineTest, ADeadClientFreesItsEngines) {
  timeline_.add_stream(1, 1, 0, 0);
  timeline_.add_stream(2, 1, 0, 0);
  submit(1, 1, 0, TaskKind::kMatrix, 1'000'000);
  submit(1, 2, 0, TaskKind::kMatrix, 1'000'000);
  timeline_.advance(10);
  timeline_.submit(2, 1, {7, 20, 0, 10, TaskKind::kMatrix});
  timeline_.drop_client(1, 500);
  timeline_.advance(600);
  EXPECT_EQ(ended_[7].start_ns, 500U);
  EXPECT_EQ(ended_.count(2), 0U);
  EXPECT_FALSE(timeline_.has_stream(1, 1));
}

// Without this, a program would wait for ever for tasks of a stream or an NPU that has gone.
TEST_F(TimelineTest, TasksOfWhatHasGoneAreTold) {
  timeline_.add_stream(1, 1, 0, 0);
  timeline_.add_stream(1, 2, 1, 0);
  submit(1, 1, 0, TaskKind::kMatrix, 100);
  submit(1, 2, 0, TaskKind::kMatrix, 100);
  timeline_.advance(10);
  timeline_.drop_stream(1, 1, 20);
  EXPECT_EQ(ended_[1].status, Status::kOk);
  EXPECT_EQ(ended_[2].status, Status::kAborted);
  timeline_.lose_npu(1, 30);
  submit(2, 3, 40, TaskKind::kMatrix, 100);
  EXPECT_EQ(ended_[3].status, Status::kLost);
  timeline_.return_npu(1);
  submit(2, 4, 50, TaskKind::kMatrix, 100);
  timeline_.advance(60);
  EXPECT_EQ(ended_[4].status, Status::kOk);
}

// Without this, one absurd task would occupy a chip for centuries.
TEST_F(TimelineTest, ATaskRunsIntoTheExecutionLimit) {
  timeline_.add_stream(1, 1, 0, 0);
  submit(1, 1, 0, TaskKind::kMatrix, ~std::uint64_t{0});
  timeline_.advance(1);
  EXPECT_EQ(ended_[1].status, Status::kTimeout);
  EXPECT_EQ(ended_[1].end_ns, Timeline::kExecutionNsMax);
}

// Without this, the utilisation that npu-smi shows would not be the engines' busy time.
TEST_F(TimelineTest, UtilisationIsBusyTime) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timeline_.add_stream(1, 1, 0, 0);
  std::uint64_t task = 0;
  for (std::uint64_t at_ns = 10 * kSecond; at_ns < 12 * kSecond; at_ns += 10'000'000) {
    submit(1, ++task, at_ns, TaskKind::kMatrix, 3'000'000);
  }
  timeline_.advance(12 * kSecond);
  EXPECT_NEAR(timeline_.busy_percent(0, Engine::kCube, 12 * kSecond), 30, 2);
  EXPECT_EQ(timeline_.busy_percent(0, Engine::kVector, 12 * kSecond), 0U);
  EXPECT_EQ(timeline_.busy_percent(1, Engine::kCube, 12 * kSecond), 0U);
  EXPECT_EQ(timeline_.busy_percent(0, Engine::kCube, 14 * kSecond), 0U) << "the past is forgotten";
  submit(1, ++task, 20 * kSecond, TaskKind::kMatrix, 100 * kSecond);
  timeline_.advance(20 * kSecond);
  EXPECT_NEAR(timeline_.busy_percent(0, Engine::kCube, 20 * kSecond + kSecond / 2), 50, 2);
  EXPECT_EQ(timeline_.busy_percent(0, Engine::kCube, 30 * kSecond), 100U);
}

}  // namespace
}  // namespace ascendsim

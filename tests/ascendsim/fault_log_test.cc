#include "ascendsim/daemon/fault_log.h"

#include <gtest/gtest.h>

namespace ascendsim {
namespace {

// Without it a fault would be told twice, or its end would be told of one that never was.
TEST(FaultLog, EventsAreChanges) {
  FaultLog log;
  EXPECT_TRUE(log.raise(3, kFaultHbmMultiBit, Severity::kMajor, 1000));
  EXPECT_TRUE(log.raise(3, kFaultHbmMultiBit, Severity::kMajor, 1001));
  log.clear(3, kFaultAiCore, 1002);
  ASSERT_EQ(log.after(0, 100).size(), 1U);
  EXPECT_EQ(log.after(0, 100)[0].fault.raised_ms, 1000U);
  log.clear(3, kFaultHbmMultiBit, 2000);
  const auto events = log.after(1, 100);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].assertion, Assertion::kRecover);
  EXPECT_EQ(events[0].serial, 2U);
  EXPECT_EQ(log.latest(), 2U);
  EXPECT_TRUE(log.active(3).empty());
}

// Without it an NPU with two faults would be as well as its lesser one.
TEST(FaultLog, HealthIsTheWorstFault) {
  FaultLog log;
  EXPECT_EQ(log.health(0), Health::kOk);
  log.raise(0, kFaultTemperature, Severity::kMinor, 1);
  EXPECT_EQ(log.health(0), Health::kWarning);
  log.raise(0, kFaultAiCore, Severity::kCritical, 1);
  EXPECT_EQ(log.health(0), Health::kCritical);
  EXPECT_EQ(log.health(1), Health::kOk);
  log.clear(0, kFaultAiCore, 2);
  EXPECT_EQ(log.health(0), Health::kWarning);
  log.tell(0, kFaultResetFinished, Severity::kSuggestion, 3);
  EXPECT_EQ(log.active(0).size(), 1U) << "an event that leaves nothing behind";
  log.clear_all(0, 4);
  EXPECT_EQ(log.health(0), Health::kOk);
}

// Without it a flood of faults would fill the memory of the machine.
TEST(FaultLog, HasLimits) {
  FaultLog log;
  for (std::uint32_t code = 0; code < FaultLog::kFaultsPerNpuMax; ++code) {
    EXPECT_TRUE(log.raise(0, code, Severity::kMinor, 1));
  }
  EXPECT_FALSE(log.raise(0, 99999, Severity::kMinor, 1));
  for (int i = 0; i < 3000; ++i) log.tell(1, 1, Severity::kMinor, 1);
  EXPECT_EQ(log.after(0, 100000).size(), FaultLog::kEventsRemembered);
  EXPECT_EQ(log.after(0, 10).size(), 10U);
}

}  // namespace
}  // namespace ascendsim

#include "device/serial_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace tangram::device {
namespace {

// Without it two calls could be in the vendor's library at once, or on threads that end before the helper.
TEST(SerialWorker, TasksOfManyCallersRunOneByOneOnOneThread) {
  SerialWorker worker;
  const std::thread::id home = worker.run([] { return std::this_thread::get_id(); });
  int unguarded = 0;
  std::atomic<bool> elsewhere{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        worker.run([&] {
          ++unguarded;
          if (std::this_thread::get_id() != home) elsewhere = true;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(worker.run([&] { return unguarded; }), 800);
  EXPECT_FALSE(elsewhere);
}

// Without it an answer that can only be moved, or an end without any call, would not work.
TEST(SerialWorker, AnswersAreHandedOver) {
  {
    const SerialWorker unused;
  }
  SerialWorker worker;
  EXPECT_EQ(*worker.run([] { return std::make_unique<int>(7); }), 7);
}

}  // namespace
}  // namespace tangram::device

// Shares of callers take turns on the threads.
#include "net/handler_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "net/support.h"

namespace tangram::net {
namespace {

// Without this, a tenant with a hundred requests in the queue would make everybody else wait for all of them.
TEST(HandlerPool, LanesTakeTurns) {
  HandlerPool pool(1);
  std::promise<void> gate;
  Mailbox<int> begun;
  pool.submit("a", [&] {
    begun.put(1);
    gate.get_future().wait();
  });
  begun.take();
  std::vector<std::string> order;
  for (int i = 0; i < 100; ++i) pool.submit("a", [&] { order.emplace_back("a"); });
  pool.submit("b", [&] { order.emplace_back("b"); });
  pool.submit("c", [&] { order.emplace_back("c"); });
  pool.submit("b", [&] { order.emplace_back("b"); });
  gate.set_value();
  pool.finish();
  ASSERT_EQ(order.size(), 103U);
  EXPECT_EQ((std::vector<std::string>(order.begin(), order.begin() + 5)),
            (std::vector<std::string>{"a", "b", "c", "a", "b"}));
}

// Without this, slow requests of one tenant on every thread would hold up all others.
TEST(HandlerPool, NoLaneHoldsEveryThread) {
  HandlerPool pool(3);
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  std::atomic<int> running{0};
  for (int i = 0; i < 10; ++i) {
    pool.submit("slow", [&] {
      ++running;
      opened.wait();
    });
  }
  EXPECT_TRUE(eventually([&] { return running == 2; }));
  Mailbox<int> done;
  pool.submit("quick", [&] { done.put(1); });
  EXPECT_EQ(done.take(), 1);
  EXPECT_EQ(running, 2);
  gate.set_value();
  pool.finish();
  EXPECT_EQ(running, 10);
}

// Without this, a task that throws would end its thread, and a few of them the server.
TEST(HandlerPool, ATaskThatThrowsTakesNothingWithIt) {
  HandlerPool pool(1);
  pool.submit("a", [] { throw std::runtime_error("boom"); });
  pool.submit("a", [] { throw 7; });
  Mailbox<int> done;
  pool.submit("a", [&] { done.put(1); });
  EXPECT_EQ(done.take(), 1);
}

}  // namespace
}  // namespace tangram::net

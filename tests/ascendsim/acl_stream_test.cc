#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/ops/acl_cblas.h"
#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

// Device buffers of one fp32 product. On the slow machine it takes milliseconds of model time.
class Product {
 public:
  explicit Product(int n) : n_(n) {
    const auto bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * sizeof(float);
    for (void** matrix : {&a_, &b_, &c_}) {
      EXPECT_EQ(aclrtMalloc(matrix, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      EXPECT_EQ(aclrtMemset(*matrix, bytes, 0, bytes), ACL_SUCCESS);
    }
    for (void** scalar : {&alpha_, &beta_}) {
      EXPECT_EQ(aclrtMalloc(scalar, sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      EXPECT_EQ(aclrtMemset(*scalar, sizeof(float), 0, sizeof(float)), ACL_SUCCESS);
    }
  }
  void launch(aclrtStream stream) const {
    EXPECT_EQ(aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, n_, n_, n_, alpha_, a_, -1, ACL_FLOAT, b_,
                            -1, ACL_FLOAT, beta_, c_, -1, ACL_FLOAT, ACL_COMPUTE_HIGH_PRECISION, stream),
              ACL_SUCCESS);
  }

 private:
  int n_;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
  void* alpha_ = nullptr;
  void* beta_ = nullptr;
};

// These tests are about time: results are not looked at, and computing them would only take the host's time.
void skip_arithmetic() {
  setenv("ASCENDSIM_COMPUTE", "none", 1);
}

aclrtStream make_stream(std::uint32_t priority = 0) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, priority, 0), ACL_SUCCESS);
  return stream;
}

aclrtEvent mark(aclrtStream stream) {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  return event;
}

float elapsed_ms(aclrtEvent from, aclrtEvent to) {
  float ms = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, from, to), ACL_SUCCESS);
  return ms;
}

std::uint64_t microseconds(aclrtEvent event) {
  std::uint64_t at = 0;
  EXPECT_EQ(aclrtEventGetTimestamp(event, &at), ACL_SUCCESS);
  return at;
}

// Holds streams back until everything is submitted, so that how fast the host submits has no part in device
// time.
class Gate {
 public:
  Gate() : stream_(make_stream()) {
    EXPECT_EQ(aclrtLaunchHostFunc(stream_, wait, this), ACL_SUCCESS);
    opened_ = mark(stream_);
  }
  void hold(aclrtStream stream) const { EXPECT_EQ(aclrtStreamWaitEvent(stream, opened_), ACL_SUCCESS); }
  void open() { open_ = true; }
  aclrtEvent opened() const { return opened_; }

 private:
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  aclrtStream stream_;
  aclrtEvent opened_ = nullptr;
  std::atomic<bool> open_{false};
};

// Without this, tasks of one stream could overtake each other.
TEST(AclStream, OrderInsideAStreamIsExact) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    constexpr std::size_t kSteps = 200;
    unsigned char* cell = nullptr;
    unsigned char* log = nullptr;
    ASSERT_EQ(aclrtMalloc(reinterpret_cast<void**>(&cell), 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(reinterpret_cast<void**>(&log), kSteps, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const Product product(16);
    aclrtStream stream = make_stream();
    for (std::size_t i = 0; i < kSteps; ++i) {
      if (i % 10 == 0) product.launch(stream);
      ASSERT_EQ(aclrtMemsetAsync(cell, 1, static_cast<std::int32_t>(i), 1, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtMemcpyAsync(log + i, 1, cell, 1, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    std::vector<unsigned char> seen(kSteps);
    ASSERT_EQ(aclrtMemcpy(seen.data(), kSteps, log, kSteps, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    for (std::size_t i = 0; i < kSteps; ++i) ASSERT_EQ(seen[i], static_cast<unsigned char>(i)) << i;
  });
}

// Without this, the model would be one queue: streams would give nothing.
TEST(AclStream, ACopyOverlapsAProductOnAnotherStream) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    skip_arithmetic();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const Product product(128);
    constexpr std::size_t kBytes = 512UL * 1024;
    void* pinned = nullptr;
    void* device = nullptr;
    ASSERT_EQ(aclrtMallocHost(&pinned, kBytes), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const auto run = [&](aclrtStream compute, aclrtStream copy) {
      Gate gate;
      gate.hold(compute);
      if (copy != compute) gate.hold(copy);
      for (int i = 0; i < 20; ++i) product.launch(compute);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(aclrtMemcpyAsync(device, kBytes, pinned, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, copy),
                  ACL_SUCCESS);
      }
      aclrtEvent computed = mark(compute);
      aclrtEvent copied = mark(copy);
      gate.open();
      EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
      return std::max(elapsed_ms(gate.opened(), computed), elapsed_ms(gate.opened(), copied));
    };
    aclrtStream first = make_stream();
    aclrtStream second = make_stream();
    const float one_stream = run(first, first);
    const float two_streams = run(first, second);
    EXPECT_GT(one_stream, 20.0F);
    EXPECT_LE(two_streams, 0.75F * one_stream) << one_stream << " ms on one stream";
  });
}

// Without this, a stream's priority would be a number without effect, or would break into running kernels.
TEST(AclStream, PriorityDecidesWhoIsNext) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    skip_arithmetic();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const Product large(256);
    const Product small(64);
    aclrtStream low = make_stream(7);
    aclrtStream high = make_stream(0);
    aclrtStream busy = make_stream(7);
    Gate gate;
    for (aclrtStream stream : {low, high, busy}) gate.hold(stream);
    for (int i = 0; i < 5; ++i) large.launch(busy);
    aclrtEvent blocked = mark(busy);
    for (int i = 0; i < 5; ++i) small.launch(low);
    aclrtEvent low_done = mark(low);
    small.launch(high);
    aclrtEvent high_done = mark(high);
    gate.open();
    ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    EXPECT_LT(microseconds(high_done), microseconds(blocked));
    EXPECT_LT(microseconds(high_done), microseconds(low_done));
    aclrtStream none = nullptr;
    EXPECT_EQ(aclrtCreateStreamWithConfig(&none, 8, 0), ACL_ERROR_RT_PARAM_INVALID);
    std::uint32_t priority = 0;
    EXPECT_EQ(aclrtStreamGetPriority(low, &priority), ACL_SUCCESS);
    EXPECT_EQ(priority, 7U);
    std::int32_t least = 0;
    std::int32_t greatest = 9;
    EXPECT_EQ(aclrtDeviceGetStreamPriorityRange(&least, &greatest), ACL_SUCCESS);
    EXPECT_EQ(least, 7);
    EXPECT_EQ(greatest, 0);

    aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
    const std::uint32_t wanted = 3;
    EXPECT_EQ(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &wanted, 1), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &wanted, sizeof wanted), ACL_SUCCESS);
    aclrtStream configured = nullptr;
    ASSERT_EQ(aclrtCreateStreamV2(&configured, config), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamGetPriority(configured, &priority), ACL_SUCCESS);
    EXPECT_EQ(priority, 3U);
    EXPECT_EQ(aclrtDestroyStreamConfigHandle(config), ACL_SUCCESS);
  });
}

// Without this, one stream could not wait for a point in another, or the host for a point in a stream.
TEST(AclStream, EventsOrderStreamsAndTellTime) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    skip_arithmetic();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const Product product(128);
    unsigned char* cell = nullptr;
    ASSERT_EQ(aclrtMalloc(reinterpret_cast<void**>(&cell), 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemset(cell, 64, 1, 64), ACL_SUCCESS);
    aclrtStream producer = make_stream();
    aclrtStream consumer = make_stream();
    aclrtEvent never = nullptr;
    ASSERT_EQ(aclrtCreateEvent(&never), ACL_SUCCESS);
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_EQ(aclrtQueryEventStatus(never, &recorded), ACL_SUCCESS);
    EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_NOT_READY);

    for (int i = 0; i < 10; ++i) product.launch(producer);
    ASSERT_EQ(aclrtMemsetAsync(cell, 64, 2, 1, producer), ACL_SUCCESS);
    aclrtEvent ready = mark(producer);
    ASSERT_EQ(aclrtStreamWaitEvent(consumer, ready), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemcpyAsync(cell + 1, 1, cell, 1, ACL_MEMCPY_DEVICE_TO_DEVICE, consumer), ACL_SUCCESS);
    aclrtEvent consumed = mark(consumer);
    EXPECT_EQ(aclrtQueryEventStatus(consumed, &recorded), ACL_SUCCESS);
    EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    float ms = 0;
    EXPECT_EQ(aclrtEventElapsedTime(&ms, ready, consumed), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
    ASSERT_EQ(aclrtSynchronizeEvent(consumed), ACL_SUCCESS);
    unsigned char seen = 0;
    ASSERT_EQ(aclrtMemcpy(&seen, 1, cell + 1, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(seen, 2) << "the copy ran before the event it waits for";
    EXPECT_GE(elapsed_ms(ready, consumed), 0.0F);
    EXPECT_EQ(aclrtEventElapsedTime(&ms, consumed, ready), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
    aclrtEventWaitStatus waited = ACL_EVENT_WAIT_STATUS_NOT_READY;
    EXPECT_EQ(aclrtQueryEventWaitStatus(ready, &waited), ACL_SUCCESS);
    EXPECT_EQ(waited, ACL_EVENT_WAIT_STATUS_COMPLETE);
    EXPECT_EQ(aclrtDestroyEvent(ready), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyEvent(ready), ACL_ERROR_RT_PARAM_INVALID);
  });
}

// Without this, a bounded wait would hang, or make the stream unusable.
TEST(AclStream, TimeoutsLeaveTheStreamUsable) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    skip_arithmetic();
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const Product product(256);
    aclrtStream stream = make_stream();
    for (int i = 0; i < 100; ++i) product.launch(stream);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -2), ACL_ERROR_RT_PARAM_INVALID);
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
    EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, -1), ACL_SUCCESS);
    EXPECT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
    EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
    for (int i = 0; i < 100; ++i) product.launch(stream);
    EXPECT_EQ(aclrtDestroyStreamForce(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
  });
}

// Without this, streams would be taken from, or given to, the wrong context.
TEST(AclStream, StreamsBelongToTheirContext) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    aclrtContext first = nullptr;
    aclrtContext second = nullptr;
    ASSERT_EQ(aclrtCreateContext(&first, 0), ACL_SUCCESS);
    aclrtStream stream = make_stream();
    ASSERT_EQ(aclrtCreateContext(&second, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
    EXPECT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << "the default stream";
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    int not_a_stream = 0;
    EXPECT_EQ(aclrtSynchronizeStream(&not_a_stream), ACL_ERROR_RT_STREAM_CONTEXT);
  });
}

// Without this, a pageable buffer could be reused while it is still being read.
TEST(AclStream, CopiesOfPageableMemoryAreSynchronous) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    constexpr std::size_t kBytes = 1U << 20;  // 10 ms of model time
    void* device = nullptr;
    void* pinned = nullptr;
    std::vector<char> pageable(kBytes, 3);
    ASSERT_EQ(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocHost(&pinned, kBytes), ACL_SUCCESS);
    aclrtStream stream = make_stream();
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    ASSERT_EQ(aclrtMemcpyAsync(device, kBytes, pageable.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream),
              ACL_SUCCESS);
    ASSERT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
    EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(aclrtMemcpyAsync(device, kBytes, pinned, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream),
                ACL_SUCCESS);
    }
    ASSERT_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
    EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  });
}

// Without this, a callback would run too early, in the wrong thread, or be overtaken by the work behind it.
TEST(AclStream, CallbacksRunInTheirPlace) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const Product product(128);
    unsigned char* cell = nullptr;
    ASSERT_EQ(aclrtMalloc(reinterpret_cast<void**>(&cell), 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    aclrtStream stream = make_stream();
    static std::atomic<int> calls{0};
    static pthread_t ran_in{};
    const auto callback = [](void* argument) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      *static_cast<unsigned char*>(argument) = 9;
      ran_in = pthread_self();
      ++calls;
    };
    EXPECT_EQ(aclrtLaunchCallback(callback, cell, ACL_CALLBACK_BLOCK, stream),
              ACL_ERROR_STREAM_NOT_SUBSCRIBE);
    EXPECT_EQ(aclrtProcessReport(0), ACL_ERROR_THREAD_NOT_SUBSCRIBE);
    std::atomic<bool> subscribed{false};
    std::atomic<bool> stop{false};
    std::thread reporter([&] {
      while (!subscribed) std::this_thread::yield();
      while (!stop) aclrtProcessReport(20);
    });
    ASSERT_EQ(aclrtSubscribeReport(static_cast<std::uint64_t>(reporter.native_handle()), stream),
              ACL_SUCCESS);
    EXPECT_EQ(aclrtSubscribeReport(1, stream), ACL_ERROR_REPEAT_SUBSCRIBE);
    subscribed = true;
    product.launch(stream);
    ASSERT_EQ(aclrtLaunchCallback(callback, cell, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemcpyAsync(cell + 1, 1, cell, 1, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(calls, 1);
    EXPECT_NE(pthread_equal(ran_in, reporter.native_handle()), 0);
    unsigned char seen = 0;
    ASSERT_EQ(aclrtMemcpy(&seen, 1, cell + 1, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(seen, 9) << "the copy overtook the callback";
    stop = true;
    reporter.join();
    EXPECT_EQ(aclrtUnSubscribeReport(static_cast<std::uint64_t>(ran_in), stream), ACL_SUCCESS);

    ASSERT_EQ(aclrtMemset(cell, 64, 0, 64), ACL_SUCCESS);
    aclrtStream other = make_stream();
    ASSERT_EQ(aclrtLaunchHostFunc(other, callback, cell), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS);
    EXPECT_EQ(calls, 2);
  });
}

// Without this, a stream leak in one program would go unnoticed, and a device would have streams without end.
TEST(AclStream, StreamsAreLimited) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    aclError error = ACL_SUCCESS;
    int made = 0;
    for (; made < 3000 && error == ACL_SUCCESS; ++made) {
      aclrtStream stream = nullptr;
      error = aclrtCreateStream(&stream);
    }
    EXPECT_EQ(error, ACL_ERROR_RT_NO_STREAM_RESOURCE);
    EXPECT_LE(made, 1985);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    make_stream();
  });
}

// Without this, npu-smi would show an idle chip while a program keeps it busy.
TEST(AclStream, UtilisationFollowsTheWork) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [&machine] {
    skip_arithmetic();
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    const Product product(1024);  // 21 ms of model time, none of ours
    for (int i = 0; i < 500; ++i) product.launch(nullptr);
    EXPECT_TRUE(eventually([&] { return machine.snapshot().npus[1].aicore_percent >= 90; }));
    aclrtUtilizationInfo info{};
    EXPECT_EQ(aclrtGetDeviceUtilizationRate(1, &info), ACL_SUCCESS);
    EXPECT_GE(info.cubeUtilization, 90);
    EXPECT_EQ(info.memoryUtilization, -1);
    EXPECT_EQ(machine.snapshot().npus[0].aicore_percent, 0U);
    EXPECT_GT(machine.snapshot().npus[1].power_deciwatts, machine.snapshot().npus[0].power_deciwatts);
  });
}

}  // namespace
}  // namespace ascendsim

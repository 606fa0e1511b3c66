// What the programs around the snippets share: numbers that halves hold exactly, and a gate that holds
// streams back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "article_a/compat.h"

namespace article_a {

// Ends the program when a call around a snippet fails.
inline void must(aclError error, const char* call) {
  if (error == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s returned %d (%s)\n", call, error, message == nullptr ? "" : message);
  std::exit(1);
}

// Lines appear at once, also in a pipe.
inline void line_by_line() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

// `count` whole numbers from -3 to 3: sums of a few dozen products stay exact in halves.
inline std::vector<float> numbers(std::size_t count, std::size_t salt) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>((i * 5 + salt * 3) % 7) - 3);
  }
  return values;
}

// Device memory with the values as halves; given back with the session.
inline void* to_device(const std::vector<float>& values) {
  std::vector<aclFloat16> halves;
  halves.reserve(values.size());
  for (const float value : values) halves.push_back(aclFloatToFloat16(value));
  const std::size_t bytes = halves.size() * sizeof(aclFloat16);
  void* memory = nullptr;
  must(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  must(aclrtMemcpy(memory, bytes, halves.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  return memory;
}

inline std::vector<float> from_device(const void* memory, std::size_t count) {
  std::vector<aclFloat16> halves(count);
  const std::size_t bytes = count * sizeof(aclFloat16);
  must(aclrtMemcpy(halves.data(), bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
  std::vector<float> values;
  values.reserve(count);
  for (const aclFloat16 half : halves) values.push_back(aclFloat16ToFloat(half));
  return values;
}

// The product of an m x k and a k x n matrix, on the host.
inline std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, std::size_t m,
                                  std::size_t n, std::size_t k) {
  std::vector<float> c(m * n, 0.0F);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      for (std::size_t p = 0; p < k; ++p) c[row * n + column] += a[row * k + p] * b[p * n + column];
    }
  }
  return c;
}

// Holds streams of the current context back until it is opened, so that how fast the host submits has no part
// in what the device does. Must be opened, and its streams awaited, before it dies.
class Gate {
 public:
  Gate() {
    must(aclrtCreateStream(&stream_), "aclrtCreateStream");
    must(aclrtCreateEvent(&opened_), "aclrtCreateEvent");
    must(aclrtLaunchHostFunc(stream_, wait, this), "aclrtLaunchHostFunc");
    must(aclrtRecordEvent(opened_, stream_), "aclrtRecordEvent");
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void hold(aclrtStream stream) const { must(aclrtStreamWaitEvent(stream, opened_), "aclrtStreamWaitEvent"); }
  void open() { open_ = true; }

 private:
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  aclrtStream stream_ = nullptr;
  aclrtEvent opened_ = nullptr;
  std::atomic<bool> open_{false};
};

}  // namespace article_a

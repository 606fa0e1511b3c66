// The faults that the NPUs have now, and the events of their coming and going.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "ascendsim/faults/fault_codes.h"

namespace ascendsim {

struct Fault {
  std::uint32_t code = 0;
  Severity severity = Severity::kMinor;
  std::uint64_t raised_ms = 0;  // since 1970
  std::uint64_t serial = 0;     // of the event that told it
};

enum class Assertion : std::uint32_t { kRecover = 0, kOccur = 1, kOneShot = 2 };

struct FaultEvent {
  std::uint64_t serial = 0;  // rising over all NPUs
  std::uint32_t npu = 0;
  Assertion assertion = Assertion::kOccur;
  Fault fault;
};

// Not thread-safe. NPUs are indices of the machine's list.
class FaultLog {
 public:
  static constexpr std::size_t kEventsRemembered = 1024;
  static constexpr std::size_t kFaultsPerNpuMax = 128;

  // Raising what is raised, or clearing what is not, is no event. False: the NPU has too many.
  bool raise(std::uint32_t npu, std::uint32_t code, Severity severity, std::uint64_t now_ms);
  void clear(std::uint32_t npu, std::uint32_t code, std::uint64_t now_ms);
  void clear_all(std::uint32_t npu, std::uint64_t now_ms);
  // An event that leaves nothing behind.
  void tell(std::uint32_t npu, std::uint32_t code, Severity severity, std::uint64_t now_ms);

  std::vector<Fault> active(std::uint32_t npu) const;  // ascending by code
  // By the worst active fault; suggestions do not count.
  Health health(std::uint32_t npu) const;
  std::uint64_t latest() const { return serial_; }
  // At most `most`, the oldest first.
  std::vector<FaultEvent> after(std::uint64_t serial, std::size_t most) const;

 private:
  void record(std::uint32_t npu, Assertion assertion, Fault fault);

  std::map<std::uint32_t, std::map<std::uint32_t, Fault>> faults_;  // by NPU, by code
  std::deque<FaultEvent> events_;
  std::uint64_t serial_ = 0;
};

}  // namespace ascendsim

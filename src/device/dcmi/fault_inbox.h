// Fault events of the driver, kept until the daemon asks for them. Runs inside the helper process only.
#pragma once

#include <cstdint>
#include <vector>

#include "device/dcmi/library.h"
#include "device/dcmi/reading.h"
#include "device/dcmi/vendor_call.h"

namespace tangram::device {

// More than so many between two questions are counted as one flood: the oldest are dropped.
inline constexpr std::size_t kEventsKeptMax = 128;

// One in a process: the vendor's callback takes no context. take() from one thread at a time; the vendor's
// threads deliver when they like.
class FaultInbox {
 public:
  FaultInbox(const Symbols& symbols, const VendorCaller& caller);

  // What has come since the last call, oldest first. The first call subscribes; where the library cannot,
  // every call polls. Unknown when it can do neither.
  Field<std::vector<EventReading>> take();

 private:
  std::int32_t poll();

  Symbols symbols_;
  VendorCaller call_;
  bool tried_ = false;
  bool subscribed_ = false;
};

}  // namespace tangram::device

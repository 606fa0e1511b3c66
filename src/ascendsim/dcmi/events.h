// Who wants to be told of faults. One thread of the library asks the driver and calls them back.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"

namespace ascendsim::dcmi {

struct Subscription {
  std::optional<std::uint32_t> logic_id;  // nothing: all chips
  dcmi_event_filter filter{};
  dcmi_fault_event_callback callback = nullptr;
};

// Thread-safe. There is no way to end a subscription, as in the vendor's library.
class Subscriptions {
 public:
  static constexpr std::size_t kSubscriptionsMax = 64;

  static Subscriptions& instance();
  // DCMI codes. From now on; earlier events are not told.
  int add(const Subscription& wanted);

 private:
  [[noreturn]] void watch(std::uint64_t after);
  void tell(const FaultRecord& fault);

  std::mutex mutex_;
  std::vector<Subscription> list_;
  bool running_ = false;
};

}  // namespace ascendsim::dcmi

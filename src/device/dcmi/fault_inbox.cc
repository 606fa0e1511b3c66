#include "device/dcmi/fault_inbox.h"

#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "device/dcmi/plausible.h"

namespace tangram::device {
namespace {

struct Kept {
  std::mutex mutex;
  std::deque<EventReading> events;
};

Kept& kept() {
  static Kept inbox;
  return inbox;
}

void keep(const abi::Event& event) {
  if (event.type != abi::kEventOfDms) return;
  const abi::FaultEvent& fault = event.fault;
  if (fault.severity > kSeverityMax || fault.assertion > kAssertionMax) return;
  EventReading reading;
  reading.code = fault.event_id;
  reading.logic_id = fault.logic_id;
  reading.severity = fault.severity;
  reading.assertion = fault.assertion;
  reading.raised_at_ms = fault.raised_at_ms;
  reading.name = text_of(fault.name).substr(0, kEventNameBytesMax);
  const std::lock_guard lock(kept().mutex);
  if (kept().events.size() >= kEventsKeptMax) kept().events.pop_front();
  kept().events.push_back(std::move(reading));
}

// On a thread of the vendor's library.
void deliver(abi::Event* event) {
  if (event != nullptr) keep(*event);
}

}  // namespace

FaultInbox::FaultInbox(const Symbols& symbols, const VendorCaller& caller)
    : symbols_(symbols), call_(caller) {}

Field<std::vector<EventReading>> FaultInbox::take() {
  if (!std::exchange(tried_, true)) {
    subscribed_ = call_("dcmi_subscribe_fault_event", symbols_.subscribe_events, abi::kAllDevices,
                        abi::kAllDevices, abi::EventFilter{}, &deliver) == abi::kOk;
  }
  const std::int32_t code = subscribed_ ? abi::kOk : poll();
  const std::lock_guard lock(kept().mutex);
  std::vector<EventReading> taken(kept().events.begin(), kept().events.end());
  kept().events.clear();
  return checked(code, std::move(taken), true);
}

std::int32_t FaultInbox::poll() {
  for (std::size_t i = 0; i < kEventsKeptMax; ++i) {
    Roomy<abi::Event> event;
    const std::int32_t code = call_("dcmi_get_fault_event", symbols_.event, abi::kAllDevices,
                                    abi::kAllDevices, 0, abi::EventFilter{}, &event.value);
    if (code == abi::kTimeout) return abi::kOk;
    if (code != abi::kOk) return code;
    keep(event.value);
  }
  return abi::kOk;
}

}  // namespace tangram::device

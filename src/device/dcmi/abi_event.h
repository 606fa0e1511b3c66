// The part of the DCMI C ABI that is about fault events (LP64, from the published layout).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tangram::device::abi {

inline constexpr int kAllDevices = -1;  // as card and as device
inline constexpr std::int32_t kEventOfDms = 0;

struct FaultEvent {
  std::uint32_t event_id;
  std::uint16_t logic_id;
  std::uint8_t node_type;
  std::uint8_t node_id;
  std::uint8_t sub_node_type;
  std::uint8_t sub_node_id;
  std::uint8_t severity;   // 0 suggestion, 1 minor, 2 major, 3 critical
  std::uint8_t assertion;  // 0 recovered, 1 occurred, 2 once
  std::int32_t event_serial;
  std::int32_t notify_serial;
  std::uint64_t raised_at_ms;
  unsigned char name[256];
  unsigned char additional[32];
  std::uint8_t os_id;
  std::uint16_t node_type_extended;
  std::uint16_t sub_node_type_extended;
  unsigned char reserved[26];
};
static_assert(sizeof(FaultEvent) == 352 && offsetof(FaultEvent, raised_at_ms) == 24 &&
              offsetof(FaultEvent, additional) == 288 && offsetof(FaultEvent, node_type_extended) == 322);

struct Event {
  std::int32_t type;
  FaultEvent fault;
};
static_assert(sizeof(Event) == 360 && offsetof(Event, fault) == 8);

struct EventFilter {
  std::uint64_t flags;  // 0: every event
  std::uint32_t event_id;
  std::uint8_t severity;
  std::uint8_t node_type;
  unsigned char reserved[32];
};
static_assert(sizeof(EventFilter) == 48);

using EventHandler = void(Event* event);
using SubscribeEvents = int(int card, int device, EventFilter filter, EventHandler* handler);
// Waits up to `timeout_ms` for one event; kTimeout if there is none.
using GetEvent = int(int card, int device, int timeout_ms, EventFilter filter, Event* event);

}  // namespace tangram::device::abi

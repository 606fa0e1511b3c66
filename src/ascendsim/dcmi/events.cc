// Faults as events: told to a subscriber, waited for, or listed as they are now.
#include "ascendsim/dcmi/events.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/text.h"
#include "ascendsim/faults/fault_codes.h"

namespace ascendsim::dcmi {
namespace {

using Clock = std::chrono::steady_clock;

// How often the driver is asked. Its own interrupts are quicker.
constexpr std::chrono::milliseconds kLook{20};
constexpr unsigned long long kFlagEventId = 1;
constexpr unsigned long long kFlagSeverity = 2;
constexpr unsigned long long kFlagNodeType = 4;

const char* name_of(std::uint32_t code) {
  const FaultCode* known = find_fault_code(code);
  return known != nullptr ? known->text : "";
}

dcmi_event event_of(const FaultRecord& fault) {
  dcmi_event event{};
  event.type = DCMI_DMS_FAULT_EVENT;
  dcmi_dms_fault_event& dms = event.event_t.dms_event;
  dms.event_id = fault.code;
  dms.deviceid = static_cast<unsigned short>(fault.logic_id);
  dms.node_type = static_cast<unsigned char>(fault.node_type);
  dms.severity = static_cast<unsigned char>(fault.severity);
  dms.assertion = static_cast<unsigned char>(fault.assertion);
  dms.event_serial_num = static_cast<int>(fault.serial);
  dms.notify_serial_num = static_cast<int>(fault.serial);
  dms.alarm_raised_time = fault.raised_ms;
  copy_text(name_of(fault.code), dms.event_name);
  return event;
}

bool matches(const dcmi_event_filter& filter, const FaultRecord& fault) {
  if ((filter.filter_flag & kFlagEventId) != 0 && filter.event_id != fault.code) return false;
  if ((filter.filter_flag & kFlagSeverity) != 0 && fault.severity < filter.severity) return false;
  return (filter.filter_flag & kFlagNodeType) == 0 || filter.node_type == fault.node_type;
}

}  // namespace

Subscriptions& Subscriptions::instance() {
  static auto* const subscriptions = new Subscriptions;  // its thread may outlive main()
  return *subscriptions;
}

int Subscriptions::add(const Subscription& wanted) {
  const std::lock_guard lock(mutex_);
  if (list_.size() >= kSubscriptionsMax) return DCMI_ERR_CODE_INNER_ERR;
  FaultEventsReply now{};
  std::vector<FaultRecord> none;
  if (const int code = Driver::instance().fault_events(~std::uint64_t{0}, &now, &none); code != DCMI_OK) {
    return code;
  }
  list_.push_back(wanted);
  if (running_) return DCMI_OK;
  running_ = true;
  std::thread([this, after = now.latest] { watch(after); }).detach();
  return DCMI_OK;
}

void Subscriptions::watch(std::uint64_t after) {
  while (true) {
    std::this_thread::sleep_for(kLook);
    FaultEventsReply reply{};
    std::vector<FaultRecord> faults;
    // A driver that is away may come back with the next dcmi_init, and counts from nothing then.
    if (Driver::instance().fault_events(after, &reply, &faults) != DCMI_OK) continue;
    if (reply.latest < after) after = 0;
    for (const FaultRecord& fault : faults) {
      after = std::max(after, fault.serial);
      tell(fault);
    }
  }
}

void Subscriptions::tell(const FaultRecord& fault) {
  std::vector<Subscription> list;
  {
    const std::lock_guard lock(mutex_);
    list = list_;
  }
  for (const Subscription& one : list) {
    if (one.logic_id && *one.logic_id != fault.logic_id) continue;
    if (!matches(one.filter, fault)) continue;
    dcmi_event event = event_of(fault);
    one.callback(&event);
  }
}

}  // namespace ascendsim::dcmi

namespace {

using ascendsim::FaultEventsReply;
using ascendsim::FaultRecord;
using ascendsim::NpuRecord;
using ascendsim::dcmi::Driver;

// Both -1: all chips.
int find_logic_id(int card, int device, std::optional<std::uint32_t>* logic_id) {
  if (card == -1 && device == -1) return DCMI_OK;
  NpuRecord npu{};
  const int code = Driver::instance().find(card, device, &npu);
  if (code == DCMI_OK) *logic_id = npu.logic_id;
  return code;
}

}  // namespace

extern "C" {

int dcmi_subscribe_fault_event(int card_id, int device_id, struct dcmi_event_filter filter,
                               dcmi_fault_event_callback callback) {
  if (callback == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  ascendsim::dcmi::Subscription wanted{std::nullopt, filter, callback};
  if (const int code = find_logic_id(card_id, device_id, &wanted.logic_id); code != DCMI_OK) return code;
  return ascendsim::dcmi::Subscriptions::instance().add(wanted);
}

int dcmi_get_fault_event(int card_id, int device_id, int timeout, struct dcmi_event_filter filter,
                         struct dcmi_event* event) {
  if (event == nullptr || timeout < 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  std::optional<std::uint32_t> logic_id;
  if (const int code = find_logic_id(card_id, device_id, &logic_id); code != DCMI_OK) return code;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout);
  while (true) {
    FaultEventsReply reply{};
    std::vector<FaultRecord> faults;
    std::uint64_t after = Driver::instance().event_cursor();
    if (const int code = Driver::instance().fault_events(after, &reply, &faults); code != DCMI_OK)
      return code;
    for (const FaultRecord& fault : faults) {
      after = fault.serial;
      Driver::instance().set_event_cursor(after);
      if (logic_id && *logic_id != fault.logic_id) continue;
      if (!ascendsim::dcmi::matches(filter, fault)) continue;
      *event = ascendsim::dcmi::event_of(fault);
      return DCMI_OK;
    }
    if (std::chrono::steady_clock::now() >= until) return DCMI_ERR_CODE_TIME_OUT;
    std::this_thread::sleep_for(ascendsim::dcmi::kLook);
  }
}

int dcmi_get_device_current_fault_event(int card_id, int device_id, struct dcmi_event* list, int length,
                                        int* count) {
  if (list == nullptr || count == nullptr || length <= 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  std::vector<FaultRecord> faults;
  if (const int code = Driver::instance().faults(card_id, device_id, &faults); code != DCMI_OK) return code;
  *count = std::min(length, static_cast<int>(faults.size()));
  for (int i = 0; i < *count; ++i) {
    list[i] = ascendsim::dcmi::event_of(faults[static_cast<std::size_t>(i)]);
  }
  return DCMI_OK;
}

}  // extern "C"

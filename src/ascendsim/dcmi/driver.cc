#include "ascendsim/dcmi/driver.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>

#include "ascendsim/dcmi/dcmi_interface_api.h"

namespace ascendsim::dcmi {
namespace {

const char kInThisLibrary = 0;

}  // namespace

bool has_hbm(const NpuRecord& npu) {
  return std::string_view(npu.chip_name).substr(0, 3) != "310";
}

int Driver::code_of(const CallResult& result) {
  if (!result.connected) return DCMI_ERR_CODE_NOT_REDAY;
  switch (result.status) {
    case Status::kOk:
      return DCMI_OK;
    case Status::kInvalid:
      return DCMI_ERR_CODE_INVALID_PARAMETER;
    case Status::kNoSuchNpu:
      return DCMI_ERR_CODE_DEVICE_NOT_EXIST;
    case Status::kDenied:
      return DCMI_ERR_CODE_OPER_NOT_PERMITTED;
    case Status::kNoSuchVdev:
      return DCMI_ERR_CODE_DEVICE_NOT_EXIST;
    case Status::kUnsupported:
      return DCMI_ERR_CODE_NOT_SUPPORT;
    case Status::kBusy:
      return DCMI_ERR_CODE_NOT_SUPPORT_IN_CONTAINER;  // what "device busy" is mapped to
    case Status::kOccupied:
      return DCMI_ERR_CODE_RESOURCE_OCCUPIED;
    case Status::kLost:
      return DCMI_ERR_CODE_NOT_REDAY;
    case Status::kTimeout:
      return DCMI_ERR_CODE_TIME_OUT;
    case Status::kOutOfMemory:
    case Status::kLimit:
    case Status::kNotOpen:
    case Status::kAborted:
      break;
  }
  return DCMI_ERR_CODE_INNER_ERR;
}

std::string machine_root() {
  std::error_code error;
  // The library may be known by a path with ".." in it.
  const auto socket = std::filesystem::weakly_canonical(driver_socket_path(&kInThisLibrary), error);
  return socket.parent_path().parent_path().parent_path().string();
}

Driver& Driver::instance() {
  static auto* const driver = new Driver;  // the thread of subscriptions may outlive main()
  return *driver;
}

void Driver::adopt_process_locked() {
  const pid_t self = getpid();
  if (owner_ == self) return;
  connection_.abandon();
  owner_ = self;
  if (initialised_) connection_ = Connection::open(driver_socket_path(&kInThisLibrary));
}

int Driver::init() {
  const std::lock_guard lock(mutex_);
  adopt_process_locked();
  initialised_ = false;
  const std::string path = driver_socket_path(&kInThisLibrary);
  connection_ = Connection::open(path);
  if (!connection_.connected()) return DCMI_ERR_CODE_INNER_ERR;
  const int code = query_locked();
  if (code != DCMI_OK) return code == DCMI_ERR_CODE_RESOURCE_OCCUPIED ? code : DCMI_ERR_CODE_INNER_ERR;
  at_init_ = now_;
  initialised_ = true;
  {
    const std::lock_guard events_lock(events_mutex_);
    events_connection_.abandon();
    events_path_ = path;
  }
  FaultEventsReply events{};
  std::vector<FaultRecord> none;
  const CallResult asked = connection_.call<FaultEventsBody, FaultEventsReply, FaultRecord>(
      RequestType::kFaultEvents, 0, FaultEventsBody{~std::uint64_t{0}}, &events, &none);
  if (asked.ok()) event_cursor_ = events.latest;
  return DCMI_OK;
}

int Driver::query_locked() {
  if (!connection_.connected()) return DCMI_ERR_CODE_NOT_REDAY;
  now_ = {};
  return code_of(query_machine(connection_, &now_));
}

std::vector<NpuRecord> Driver::table() {
  const std::lock_guard lock(mutex_);
  return initialised_ ? at_init_.npus : std::vector<NpuRecord>{};
}

int Driver::find_locked(int card, int device, NpuRecord* entry) const {
  if (!initialised_) return DCMI_ERR_CODE_INNER_ERR;
  if (card < 0 || card >= DCMI_MAX_CARD_NUM || device < 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  const auto found = std::ranges::find_if(at_init_.npus, [card, device](const NpuRecord& npu) {
    return static_cast<int>(npu.card_id) == card && static_cast<int>(npu.chip_id) == device;
  });
  if (found == at_init_.npus.end()) return DCMI_ERR_CODE_INVALID_DEVICE_ID;
  *entry = *found;
  return DCMI_OK;
}

int Driver::find(int card, int device, NpuRecord* entry) {
  const std::lock_guard lock(mutex_);
  return find_locked(card, device, entry);
}

int Driver::read(int card, int device, NpuRecord* now) {
  const std::lock_guard lock(mutex_);
  return read_locked(card, device, now);
}

int Driver::read_locked(int card, int device, NpuRecord* now) {
  NpuRecord entry{};
  if (const int code = find_locked(card, device, &entry); code != DCMI_OK) return code;
  adopt_process_locked();
  if (const int code = query_locked(); code != DCMI_OK) return code;
  const auto found =
      std::ranges::find_if(now_.npus, [&entry](const NpuRecord& npu) { return npu.phy_id == entry.phy_id; });
  if (found == now_.npus.end()) return DCMI_ERR_CODE_DEVICE_NOT_EXIST;
  *now = *found;
  return now->stall_ms == 0 ? DCMI_OK : stall_locked(*now);
}

int Driver::stall_locked(const NpuRecord& entry) {
  if (entry.stall_ms != kAnyNumber) {
    std::this_thread::sleep_for(std::chrono::milliseconds(entry.stall_ms));
    return DCMI_OK;
  }
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (const int code = query_locked(); code != DCMI_OK) return code;
    const auto found = std::ranges::find(now_.npus, entry.phy_id, &NpuRecord::phy_id);
    if (found == now_.npus.end() || found->stall_ms != kAnyNumber) return DCMI_OK;
  }
}

int Driver::fault_events(std::uint64_t after, FaultEventsReply* reply, std::vector<FaultRecord>* faults) {
  const std::lock_guard lock(events_mutex_);
  if (!events_connection_.connected()) {
    events_connection_ = Connection::open(events_path_);
  }
  const CallResult result = events_connection_.call<FaultEventsBody, FaultEventsReply, FaultRecord>(
      RequestType::kFaultEvents, 0, FaultEventsBody{after}, reply, faults);
  if (!result.connected) events_connection_.abandon();
  return code_of(result);
}

int Driver::faults(int card, int device, std::vector<FaultRecord>* list) {
  Connection::NoBody none;
  return ask(card, device, RequestType::kFaults, Connection::NoBody{}, &none, list);
}

int Driver::processes(int card, int device, std::vector<ProcessRecord>* list) {
  NpuRecord now{};
  if (const int code = read(card, device, &now); code != DCMI_OK) return code;
  const std::lock_guard lock(mutex_);
  return code_of(query_processes(connection_, now.logic_id, list));
}

int Driver::driver_version(std::string* version) {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return DCMI_ERR_CODE_INNER_ERR;
  *version = at_init_.machine.driver_version;
  return DCMI_OK;
}

}  // namespace ascendsim::dcmi

#include "ascendsim/dcmi/driver.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "ascendsim/dcmi/dcmi_interface_api.h"

namespace ascendsim::dcmi {
namespace {

const char kInThisLibrary = 0;

int code_of(const CallResult& result) {
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

}  // namespace

bool has_hbm(const NpuRecord& npu) {
  return std::string_view(npu.chip_name).substr(0, 3) != "310";
}

Driver& Driver::instance() {
  static Driver driver;
  return driver;
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
  connection_ = Connection::open(driver_socket_path(&kInThisLibrary));
  if (!connection_.connected()) return DCMI_ERR_CODE_INNER_ERR;
  if (query_locked() != DCMI_OK) return DCMI_ERR_CODE_INNER_ERR;
  at_init_ = now_;
  initialised_ = true;
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
  NpuRecord entry{};
  if (const int code = find_locked(card, device, &entry); code != DCMI_OK) return code;
  adopt_process_locked();
  if (const int code = query_locked(); code != DCMI_OK) return code;
  const auto found =
      std::ranges::find_if(now_.npus, [&entry](const NpuRecord& npu) { return npu.phy_id == entry.phy_id; });
  if (found == now_.npus.end()) return DCMI_ERR_CODE_DEVICE_NOT_EXIST;
  *now = *found;
  return DCMI_OK;
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

// Health and faults, and links between chips.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"
#include "ascendsim/dcmi/text.h"
#include "ascendsim/faults/fault_codes.h"

using ascendsim::NpuRecord;
using ascendsim::dcmi::Driver;
using ascendsim::dcmi::has_hbm;

namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

extern "C" {

int dcmi_get_device_health(int card_id, int device_id, unsigned int* health) {
  if (health == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().read(card_id, device_id, &npu); code != DCMI_OK) return code;
  *health = static_cast<unsigned int>(npu.health);
  return DCMI_OK;
}

int dcmi_get_device_errorcode_v2(int card_id, int device_id, int* count, unsigned int* list,
                                 unsigned int length) {
  if (count == nullptr || list == nullptr || length == 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().read(card_id, device_id, &npu); code != DCMI_OK) return code;
  if (npu.health == ascendsim::Health::kAbsent) return DCMI_ERR_CODE_NOT_REDAY;
  std::vector<ascendsim::FaultRecord> faults;
  if (const int code = Driver::instance().faults(card_id, device_id, &faults); code != DCMI_OK) return code;
  const std::size_t told = std::min<std::size_t>(faults.size(), length);
  for (std::size_t i = 0; i < told; ++i) list[i] = faults[i].code;
  *count = static_cast<int>(told);
  return DCMI_OK;
}

int dcmi_get_device_errorcode_string(int card_id, int device_id, unsigned int code, unsigned char* text,
                                     int size) {
  if (text == nullptr || size <= 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int found = Driver::instance().find(card_id, device_id, &npu); found != DCMI_OK) return found;
  const ascendsim::FaultCode* known = ascendsim::find_fault_code(code);
  if (known == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  const std::size_t length = std::min(std::strlen(known->text), static_cast<std::size_t>(size) - 1);
  std::memcpy(text, known->text, length);
  text[length] = 0;
  return DCMI_OK;
}

int dcmi_get_driver_health(unsigned int* health) {
  if (health == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  std::string version;
  if (const int code = Driver::instance().driver_version(&version); code != DCMI_OK) return code;
  *health = 0;
  return DCMI_OK;
}

int dcmi_get_driver_errorcode(int* count, unsigned int* list, unsigned int length) {
  if (count == nullptr || list == nullptr || length == 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  unsigned int health = 0;
  if (const int code = dcmi_get_driver_health(&health); code != DCMI_OK) return code;
  *count = 0;
  return DCMI_OK;
}

int dcmi_get_device_network_health(int card_id, int device_id, enum dcmi_rdfx_detect_result* result) {
  if (result == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().read(card_id, device_id, &npu); code != DCMI_OK) return code;
  if (npu.health == ascendsim::Health::kAbsent) return DCMI_ERR_CODE_NOT_REDAY;
  if (!has_hbm(npu)) return DCMI_ERR_CODE_NOT_SUPPORT;
  *result = DCMI_RDFX_DETECT_OK;
  return DCMI_OK;
}

int dcmi_get_device_boot_status(int card_id, int device_id, enum dcmi_boot_status* status) {
  if (status == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().read(card_id, device_id, &npu); code != DCMI_OK) return code;
  *status = static_cast<dcmi_boot_status>(npu.boot_status);
  return DCMI_OK;
}

int dcmi_get_npu_work_mode(int card_id, unsigned char* mode) {
  if (mode == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  int chips = 0;
  if (const int code = dcmi_get_device_num_in_card(card_id, &chips); code != DCMI_OK) return code;
  *mode = 0;  // AMP, the mode in which chips can be cut
  return DCMI_OK;
}

int dcmi_get_topo_info_by_device_id(int card_a, int device_a, int card_b, int device_b, int* type) {
  if (type == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord a{};
  NpuRecord b{};
  if (const int code = Driver::instance().find(card_a, device_a, &a); code != DCMI_OK) return code;
  if (const int code = Driver::instance().find(card_b, device_b, &b); code != DCMI_OK) return code;
  if (a.phy_id == b.phy_id) {
    *type = DCMI_TOPO_TYPE_SELF;
  } else if (has_hbm(a) && has_hbm(b)) {
    *type = DCMI_TOPO_TYPE_HCCS;
  } else {
    *type = a.card_id == b.card_id ? DCMI_TOPO_TYPE_PIX : DCMI_TOPO_TYPE_PHB;
  }
  return DCMI_OK;
}

int dcmi_get_affinity_cpu_info_by_device_id(int card_id, int device_id, char* text, int* length) {
  if (text == nullptr || length == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  const std::string cpus = first_line("/sys/devices/system/cpu/online");
  if (cpus.empty()) return DCMI_ERR_CODE_NOT_SUPPORT;
  if (*length <= 0 || !ascendsim::dcmi::copy_text(cpus, text, static_cast<std::size_t>(*length))) {
    return DCMI_ERR_CODE_INVALID_PARAMETER;
  }
  *length = static_cast<int>(cpus.size());
  return DCMI_OK;
}

}  // extern "C"

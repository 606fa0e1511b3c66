// Settings of virtual devices: of the host, of a chip, and whether a boot makes them again.
#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"
#include "ascendsim/dcmi/recover.h"

using ascendsim::NpuRecord;
using ascendsim::RecoverFile;
using ascendsim::RequestType;
using ascendsim::Setting;
using ascendsim::SettingBody;
using ascendsim::dcmi::change_recover_file;
using ascendsim::dcmi::Driver;
using ascendsim::dcmi::read_recover_file;

namespace {

int get(int card, int device, Setting setting, unsigned int* value) {
  SettingBody answer{};
  const int code =
      Driver::instance().ask(card, device, RequestType::kGetSetting, SettingBody{setting, 0}, &answer);
  if (code == DCMI_OK) *value = answer.value;
  return code;
}

int set(int card, int device, Setting setting, unsigned int value) {
  if (value > 1) return DCMI_ERR_CODE_INVALID_PARAMETER;
  return Driver::instance().tell(card, device, RequestType::kSetSetting, SettingBody{setting, value});
}

// The host's settings are asked of any chip.
int first_chip(NpuRecord* npu) {
  const auto table = Driver::instance().table();
  if (table.empty()) return DCMI_ERR_CODE_INNER_ERR;
  *npu = table.front();
  return DCMI_OK;
}

}  // namespace

extern "C" {

int dcmi_get_vdevice_mode(int* mode) {
  if (mode == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = first_chip(&npu); code != DCMI_OK) return code;
  unsigned int value = 0;
  const int code =
      get(static_cast<int>(npu.card_id), static_cast<int>(npu.chip_id), Setting::kVdeviceMode, &value);
  if (code == DCMI_OK) *mode = static_cast<int>(value);
  return code;
}

int dcmi_set_vdevice_mode(int mode) {
  NpuRecord npu{};
  if (const int code = first_chip(&npu); code != DCMI_OK) return code;
  return set(static_cast<int>(npu.card_id), static_cast<int>(npu.chip_id), Setting::kVdeviceMode,
             static_cast<unsigned int>(mode));
}

int dcmi_get_vnpu_config_recover_mode(unsigned int* mode) {
  if (mode == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  RecoverFile file;
  if (const int code = read_recover_file(&file); code != DCMI_OK) return code;
  *mode = file.enabled ? 1 : 0;
  return DCMI_OK;
}

int dcmi_set_vnpu_config_recover_mode(unsigned int mode) {
  if (mode > 1) return DCMI_ERR_CODE_INVALID_PARAMETER;
  return change_recover_file([mode](RecoverFile& file) {
    file.enabled = mode == 1;
    if (!file.enabled) file.entries.clear();
    return true;
  });
}

int dcmi_get_device_share_enable(int card_id, int device_id, int* enabled) {
  if (enabled == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  unsigned int value = 0;
  const int code = get(card_id, device_id, Setting::kDeviceShare, &value);
  if (code == DCMI_OK) *enabled = static_cast<int>(value);
  return code;
}

int dcmi_set_device_share_enable(int card_id, int device_id, int enabled) {
  return set(card_id, device_id, Setting::kDeviceShare, static_cast<unsigned int>(enabled));
}

int dcmi_get_device_share_config_recover_mode(unsigned int* mode) {
  if (mode == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  *mode = 0;  // the setting of a chip does not outlive a boot
  return DCMI_OK;
}

int dcmi_get_multi_die_policy(enum dcmi_multi_die_policy* policy) {
  if (policy == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = first_chip(&npu); code != DCMI_OK) return code;
  unsigned int value = 0;
  const int code =
      get(static_cast<int>(npu.card_id), static_cast<int>(npu.chip_id), Setting::kMultiDiePolicy, &value);
  if (code == DCMI_OK) *policy = static_cast<dcmi_multi_die_policy>(value);
  return code;
}

int dcmi_set_multi_die_policy(enum dcmi_multi_die_policy policy) {
  NpuRecord npu{};
  if (const int code = first_chip(&npu); code != DCMI_OK) return code;
  return set(static_cast<int>(npu.card_id), static_cast<int>(npu.chip_id), Setting::kMultiDiePolicy,
             static_cast<unsigned int>(policy));
}

int dcmi_set_device_share_config_recover_mode(unsigned int mode) {
  return mode == 0 ? DCMI_OK : DCMI_ERR_CODE_NOT_SUPPORT;
}

}  // extern "C"

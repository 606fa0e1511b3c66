// Resets: the three steps over the management channel, or all at once over the bus.
#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"

using ascendsim::NpuRecord;
using ascendsim::RequestType;
using ascendsim::ResetBody;
using ascendsim::ResetStep;
using ascendsim::dcmi::Driver;

namespace {

int step(int card, int device, ResetStep which) {
  return Driver::instance().tell(card, device, RequestType::kReset, ResetBody{which, 0});
}

}  // namespace

extern "C" {

int dcmi_set_device_pre_reset(int card_id, int device_id) {
  return step(card_id, device_id, ResetStep::kTakeAway);
}

int dcmi_pre_reset_soc(int card_id, int device_id) {
  return dcmi_set_device_pre_reset(card_id, device_id);
}

int dcmi_set_device_reset(int card_id, int device_id, enum dcmi_reset_channel channel) {
  if (channel != OUTBAND_CHANNEL && channel != INBAND_CHANNEL) return DCMI_ERR_CODE_INVALID_PARAMETER;
  return step(card_id, device_id, ResetStep::kReset);
}

int dcmi_set_device_rescan(int card_id, int device_id) {
  return step(card_id, device_id, ResetStep::kBringBack);
}

int dcmi_rescan_soc(int card_id, int device_id) {
  return dcmi_set_device_rescan(card_id, device_id);
}

int dcmi_get_device_outband_channel_state(int card_id, int device_id, int* state) {
  if (state == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().find(card_id, device_id, &npu); code != DCMI_OK) return code;
  *state = 1;
  return DCMI_OK;
}

}  // extern "C"

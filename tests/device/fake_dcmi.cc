// A libdcmi.so with canned cards, for the tests of src/device. Built three times: as it should be, without
// half of its symbols (FAKE_BARE), and answering nonsense (FAKE_GARBAGE). Files in $FAKE_DCMI_DIR switch
// faults on and off while it runs: init_fails, lost (whoever initialised before it appeared), hang_<card>,
// crash_<card>, ill_<card>, slow_ms (how long each call about an NPU takes).
//
// Cards 0 and 3 carry one NPU, card 7 two NPUs and an MCU. Physical ids 0, 1, 4, 5; logic ids 0 to 3.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "device/fake_switches.h"

namespace {

using fake::kNpus;
using fake::Npu;
using fake::switched_on;

bool lost_at_init = false;

// 0, or the code that every call about this device answers.
int refuse(int card, int device) {
  usleep(static_cast<useconds_t>(fake::number_of("slow_ms", 0)) * 1000);
  if (switched_on("lost") && !lost_at_init) return -8012;
  for (const Npu& npu : kNpus) {
    if (npu.card == card && npu.device == device) return 0;
  }
  return -8007;
}

int logic_of(int card, int device) {
  for (int i = 0; i < 4; ++i) {
    if (kNpus[i].card == card && kNpus[i].device == device) return i;
  }
  return -1;
}

}  // namespace

extern "C" {

struct dcmi_chip_info {
  unsigned char chip_type[32], chip_name[32], chip_ver[32];
  unsigned int aicore_cnt;
};
struct dcmi_board_info {
  unsigned int board_id, pcb_id, bom_id, slot_id;
};
struct dcmi_hbm_info {
  unsigned long long memory_size;
  unsigned int freq;
  unsigned long long memory_usage;
  int temp;
  unsigned int bandwith_util_rate;
};
struct dcmi_proc_mem_info {
  int proc_id;
  unsigned long proc_mem_usage;
};

int dcmi_init() {
  lost_at_init = switched_on("lost");
  return switched_on("init_fails") ? -8005 : 0;
}

int dcmi_get_card_list(int* count, int* list, int length) {
  if (count == nullptr || list == nullptr || length < 3) return -8001;
  if (switched_on("lost") && !lost_at_init) return -8012;
#ifdef FAKE_GARBAGE
  // The count is believable so that the nonsense of the other calls is reached, too.
  *count = switched_on("huge_count") ? 0x7FFFFFFF : 3;
#else
  *count = 3;
#endif
  list[0] = 7;
  list[1] = 0;
  list[2] = 3;
  return 0;
}

int dcmi_get_device_num_in_card(int card, int* count) {
  if (switched_on("hang_card_" + std::to_string(card))) {
    while (true) pause();
  }
  *count = card == 7 ? 3 : 1;
  return 0;
}

int dcmi_get_device_logic_id(int* logic, int card, int device) {
  *logic = logic_of(card, device);
  return refuse(card, device);
}

int dcmi_get_device_phyid_from_logicid(unsigned int logic, unsigned int* phy) {
  if (logic > 3) return -8001;
  *phy = kNpus[logic].phy;
  return 0;
}

int dcmi_get_device_type(int card, int device, int* type) {
  *type = card == 7 && device == 2 ? 1 : 0;
  return 0;
}

#ifndef FAKE_BARE

int dcmi_get_driver_version(char* version, unsigned int length) {
#ifdef FAKE_GARBAGE
  std::memset(version, 'x', length);  // no end of text
#else
  std::snprintf(version, length, "%s", switched_on("new_driver") ? "25.5.1" : "25.2.0");
#endif
  return 0;
}

int dcmi_get_device_chip_info(int card, int device, dcmi_chip_info* info) {
#ifdef FAKE_GARBAGE
  std::memset(info, 0xFF, sizeof *info + 32);  // a later release writes more than the structure of today
#else
  std::memcpy(&info->chip_type[0], "Ascend", 7);
  std::memcpy(&info->chip_name[0], "910B4", 6);
  std::memcpy(&info->chip_ver[0], "V1", 3);
  info->aicore_cnt = 20;
#endif
  return refuse(card, device);
}

int dcmi_get_device_board_info(int card, int device, dcmi_board_info* info) {
#ifdef FAKE_GARBAGE
  std::memset(info, 0xFF, sizeof *info);
#else
  *info = {0x33, 1, 2, 5};
#endif
  return refuse(card, device);
}

int dcmi_get_device_health(int card, int device, unsigned int* health) {
  if (switched_on("hang_" + std::to_string(card))) {
    while (true) pause();
  }
  if (switched_on("crash_" + std::to_string(card))) {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer would take it for a finding
    raise(SIGSEGV);
  }
  *health = switched_on("ill_" + std::to_string(card)) ? 2 : 0;
#ifdef FAKE_GARBAGE
  *health = 77;
#endif
  return refuse(card, device);
}

int dcmi_get_device_errorcode_v2(int card, int device, int* count, unsigned int* list, unsigned int length) {
  if (length < 2) return -8001;
  *count = switched_on("ill_" + std::to_string(card)) ? 2 : 0;
  list[0] = 0x80E01801U;
  list[1] = 0x81078603U;
#ifdef FAKE_GARBAGE
  *count = -5;
#endif
  return refuse(card, device);
}

int dcmi_get_device_hbm_info(int card, int device, dcmi_hbm_info* info) {
#ifdef FAKE_GARBAGE
  std::memset(info, 0xFF, sizeof *info);
#else
  info->memory_size = 32768;
  info->memory_usage = 3000U + kNpus[logic_of(card, device)].phy;
#endif
  return refuse(card, device);
}

int dcmi_get_device_utilization_rate(int card, int device, int type, unsigned int* percent) {
  if (type != 2) return -8001;
#ifdef FAKE_GARBAGE
  *percent = 4711;
#else
  *percent = 42;
  // A split chip: the driver clamps to 0 and says that it does not know.
  if (card == 3) {
    *percent = 0;
    return -8255;
  }
#endif
  return refuse(card, device);
}

int dcmi_get_device_temperature(int card, int device, int* celsius) {
#ifdef FAKE_GARBAGE
  *celsius = 0x7FFFFFFF;
#else
  *celsius = 39;
#endif
  return refuse(card, device);
}

int dcmi_get_device_power_info(int card, int device, int* tenth_watts) {
#ifdef FAKE_GARBAGE
  *tenth_watts = -1;
#else
  *tenth_watts = 882;
#endif
  return refuse(card, device);
}

int dcmi_get_device_resource_info(int card, int device, dcmi_proc_mem_info* list, int* count) {
#ifdef FAKE_GARBAGE
  *count = 0x10000000;
  list[0] = {-1, ~0UL};
#else
  *count = 1;
  list[0] = {1234 + card, 512UL * 1024 * 1024};
#endif
  return refuse(card, device);
}

#endif  // FAKE_BARE

}  // extern "C"

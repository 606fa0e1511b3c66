// The vendor's library as loaded into this process. Only `tangram-dcmi-helper` links this file: the daemon
// itself never maps vendor code. Not thread-safe, like the library.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "device/dcmi/abi.h"
#include "device/dcmi/abi_event.h"
#include "device/dcmi/abi_vnpu.h"

namespace tangram::device {

// Entry points; null where the installed release does not export one.
struct Symbols {
  abi::Init* init = nullptr;
  abi::GetVersion* driver_version = nullptr;
  abi::GetCardList* card_list = nullptr;
  abi::GetDeviceCount* device_count = nullptr;
  abi::GetDeviceType* device_type = nullptr;
  abi::GetLogicId* logic_id = nullptr;
  abi::GetPhyId* phy_id = nullptr;
  abi::GetChipInfo* chip_info = nullptr;
  abi::GetBoardInfo* board_info = nullptr;
  abi::GetPcieInfo* pcie_info = nullptr;
  abi::GetDie* die = nullptr;
  abi::GetHealth* health = nullptr;
  abi::GetErrorCodes* error_codes = nullptr;
  abi::GetHbmInfo* hbm_info = nullptr;
  abi::GetMemoryInfo* memory_info = nullptr;
  abi::GetUtilisation* utilisation = nullptr;
  abi::GetTemperature* temperature = nullptr;
  abi::GetPower* power = nullptr;
  abi::GetMcuPower* mcu_power = nullptr;
  abi::GetProcesses* processes = nullptr;
  abi::GetMcuVersion* mcu_version = nullptr;
  abi::CreateVnpu* create_vnpu = nullptr;
  abi::DestroyVnpu* destroy_vnpu = nullptr;
  abi::GetDeviceInfo* device_info = nullptr;
  abi::GetVnpuMode* vnpu_mode = nullptr;
  abi::GetRecoverMode* recover_mode = nullptr;
  abi::SetRecoverMode* set_recover_mode = nullptr;
  abi::GetDeviceShare* device_share = nullptr;
  abi::SetDeviceShare* set_device_share = nullptr;
  abi::SubscribeEvents* subscribe_events = nullptr;
  abi::GetEvent* event = nullptr;
};

struct Library {
  std::string path;
  Symbols symbols;
};

// Loads the first of `paths` that exists and is a DCMI library. The error (kUnavailable,
// "device.library.missing" or "device.library.unusable") lists every path with the loader's own words; a file
// that every user can write to is not loaded. The library stays loaded for the life of the process: vendor
// destructors are not known to be safe.
Result<Library> load_library(const std::vector<std::string>& paths);

}  // namespace tangram::device

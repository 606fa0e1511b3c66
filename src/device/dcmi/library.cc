#include "device/dcmi/library.h"

#include <dlfcn.h>
#include <sys/stat.h>

namespace tangram::device {
namespace {

template <class Function>
void find(void* handle, const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(dlsym(handle, name));
}

Symbols find_symbols(void* handle) {
  Symbols symbols;
  find(handle, "dcmi_init", symbols.init);
  find(handle, "dcmi_get_driver_version", symbols.driver_version);
  find(handle, "dcmi_get_card_list", symbols.card_list);
  if (symbols.card_list == nullptr) find(handle, "dcmi_get_card_num_list", symbols.card_list);
  find(handle, "dcmi_get_device_num_in_card", symbols.device_count);
  find(handle, "dcmi_get_device_type", symbols.device_type);
  find(handle, "dcmi_get_device_logic_id", symbols.logic_id);
  find(handle, "dcmi_get_device_phyid_from_logicid", symbols.phy_id);
  find(handle, "dcmi_get_device_chip_info", symbols.chip_info);
  find(handle, "dcmi_get_device_board_info", symbols.board_info);
  find(handle, "dcmi_get_device_pcie_info_v2", symbols.pcie_info);
  find(handle, "dcmi_get_device_die_v2", symbols.die);
  find(handle, "dcmi_get_device_health", symbols.health);
  find(handle, "dcmi_get_device_errorcode_v2", symbols.error_codes);
  find(handle, "dcmi_get_device_hbm_info", symbols.hbm_info);
  find(handle, "dcmi_get_device_memory_info_v3", symbols.memory_info);
  find(handle, "dcmi_get_device_utilization_rate", symbols.utilisation);
  find(handle, "dcmi_get_device_temperature", symbols.temperature);
  find(handle, "dcmi_get_device_power_info", symbols.power);
  find(handle, "dcmi_mcu_get_power_info", symbols.mcu_power);
  find(handle, "dcmi_get_device_resource_info", symbols.processes);
  find(handle, "dcmi_mcu_get_version", symbols.mcu_version);
  find(handle, "dcmi_create_vdevice", symbols.create_vnpu);
  find(handle, "dcmi_set_destroy_vdevice", symbols.destroy_vnpu);
  find(handle, "dcmi_get_device_info", symbols.device_info);
  find(handle, "dcmi_get_vdevice_mode", symbols.vnpu_mode);
  find(handle, "dcmi_get_vnpu_config_recover_mode", symbols.recover_mode);
  find(handle, "dcmi_set_vnpu_config_recover_mode", symbols.set_recover_mode);
  find(handle, "dcmi_get_device_share_enable", symbols.device_share);
  find(handle, "dcmi_set_device_share_enable", symbols.set_device_share);
  find(handle, "dcmi_subscribe_fault_event", symbols.subscribe_events);
  find(handle, "dcmi_get_fault_event", symbols.event);
  return symbols;
}

// The helper runs with the daemon's rights: code that anybody could have written is not for it.
bool others_can_write(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0;
}

}  // namespace

Result<Library> load_library(const std::vector<std::string>& paths) {
  std::string searched;
  for (const std::string& path : paths) {
    if (others_can_write(path)) {
      searched += (searched.empty() ? "" : "; ") + path + ": every user can write to it";
      continue;
    }
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) {
      Library library{path, find_symbols(handle)};
      if (library.symbols.init != nullptr && library.symbols.card_list != nullptr &&
          library.symbols.device_count != nullptr) {
        return library;
      }
      return fail(Code::kUnavailable, "device.library.unusable",
                  path + " is loaded, but lacks dcmi_init, dcmi_get_card_list or dcmi_get_device_num_in_card",
                  "install the driver package again, or name another library in the configuration");
    }
    const char* reason = dlerror();
    searched +=
        (searched.empty() ? "" : "; ") + path + ": " + (reason != nullptr ? reason : "unknown reason");
  }
  return fail(Code::kUnavailable, "device.library.missing",
              "no libdcmi.so could be loaded; searched " + searched,
              "install the Ascend driver, or name the library in the configuration");
}

}  // namespace tangram::device

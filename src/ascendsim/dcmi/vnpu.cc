// Virtual devices: making and destroying them, and what there is and is left.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"
#include "ascendsim/dcmi/recover.h"
#include "ascendsim/dcmi/text.h"

using ascendsim::Connection;
using ascendsim::CreateVdevBody;
using ascendsim::CreateVdevReply;
using ascendsim::NpuRecord;
using ascendsim::RecoverEntry;
using ascendsim::RecoverFile;
using ascendsim::RequestType;
using ascendsim::VdevRecord;
using ascendsim::VnpuResourcesRecord;
using ascendsim::VnpusReply;
using ascendsim::dcmi::change_recover_file;
using ascendsim::dcmi::copy_text;
using ascendsim::dcmi::Driver;

namespace {

struct Chip {
  VnpusReply resources{};
  std::vector<VdevRecord> vdevs;
};

int read_chip(int card, int device, Chip* chip) {
  return Driver::instance().ask(card, device, RequestType::kVnpus, Connection::NoBody{}, &chip->resources,
                                &chip->vdevs);
}

// Fields that the driver does not set stay "not supported".
template <class Struct>
void fill_unknown(Struct* all) {
  std::memset(all, 0xFF, sizeof *all);
}

void fill_computing(const VnpuResourcesRecord& from, dcmi_computing_resource* to) {
  fill_unknown(to);
  to->aic = from.ai_cores;
  to->aiv = -1;
  to->memory_size = from.memory_mb;
  if (from.ai_cpus != ascendsim::kUnknownCount) to->device_aicpu = static_cast<unsigned short>(from.ai_cpus);
}

template <class Record>
void fill_media(const Record& from, dcmi_media_resource* to) {
  fill_unknown(to);
  to->jpegd = from.jpegd;
  to->jpege = from.jpege;
  to->vpc = from.vpc;
  to->vdec = from.vdec;
  to->pngd = from.pngd;
  to->venc = from.venc;
}

void fill_query(const VdevRecord& from, dcmi_vdev_query_info* to) {
  fill_unknown(to);
  copy_text(from.template_name, to->name);
  to->status = 0;
  to->is_container_used = from.in_use;
  to->vfid = from.vfid;
  to->vfg_id = from.vgroup;
  to->container_id = from.container_id;
  to->computing.aic = static_cast<float>(from.ai_cores);
  to->computing.aiv = -1;
  to->computing.memory_size = from.memory_bytes_total >> 20U;
  to->computing.device_aicpu = static_cast<unsigned short>(from.ai_cpus);
  fill_media(from, &to->media);
}

// One of the query's forms: the caller's buffer must hold all of it.
template <class Struct, class Fill>
int give(void* buffer, unsigned int* size, Fill fill) {
  if (*size < sizeof(Struct)) return DCMI_ERR_CODE_INVALID_PARAMETER;
  Struct whole;
  std::memcpy(&whole, buffer, sizeof whole);
  if (const int code = fill(&whole); code != DCMI_OK) return code;
  std::memcpy(buffer, &whole, sizeof whole);
  *size = sizeof whole;
  return DCMI_OK;
}

int give_total(const Chip& chip, void* buffer, unsigned int* size) {
  return give<dcmi_soc_total_resource>(buffer, size, [&chip](dcmi_soc_total_resource* total) {
    fill_unknown(total);
    total->vdev_num = static_cast<unsigned int>(chip.vdevs.size());
    for (std::size_t i = 0; i < chip.vdevs.size() && i < DCMI_VDEV_MAX; ++i) {
      total->vdev_id[i] = chip.vdevs[i].vdev_id;
    }
    total->vfg_num = chip.resources.total.vgroups;
    total->vfg_bitmap = chip.resources.total.vgroup_bitmap;
    fill_computing(chip.resources.total, &total->computing);
    fill_media(chip.resources.total, &total->media);
    return DCMI_OK;
  });
}

int give_left(const Chip& chip, void* buffer, unsigned int* size) {
  return give<dcmi_soc_free_resource>(buffer, size, [&chip](dcmi_soc_free_resource* left) {
    fill_unknown(left);
    left->vfg_num = chip.resources.left.vgroups;
    left->vfg_bitmap = chip.resources.left.vgroup_bitmap;
    fill_computing(chip.resources.left, &left->computing);
    fill_media(chip.resources.left, &left->media);
    return DCMI_OK;
  });
}

int give_vdev(const Chip& chip, bool activity, void* buffer, unsigned int* size) {
  return give<dcmi_vdev_query_stru>(buffer, size, [&chip, activity](dcmi_vdev_query_stru* query) {
    const auto found = std::ranges::find(chip.vdevs, query->vdev_id, &VdevRecord::vdev_id);
    if (found == chip.vdevs.end()) return DCMI_ERR_CODE_DEVICE_NOT_EXIST;
    if (activity && found->aicore_percent == ascendsim::kUnknownCount) return DCMI_ERR_CODE_NOT_SUPPORT;
    fill_query(*found, &query->query_info);
    if (!activity) return DCMI_OK;
    query->query_info.computing.vdev_aicore_utilization = found->aicore_percent;
    query->query_info.computing.vdev_memory_total = found->memory_bytes_total >> 10U;
    query->query_info.computing.vdev_memory_free = found->memory_bytes_free >> 10U;
    return DCMI_OK;
  });
}

int save(const NpuRecord& npu, const dcmi_create_vdev_res_stru& wanted, unsigned int vdev_id) {
  return change_recover_file([&](RecoverFile& file) {
    if (!file.enabled) return false;
    RecoverEntry entry;
    entry.phy_id = npu.phy_id;
    entry.vdev_id = vdev_id;
    entry.card_id = npu.card_id;
    entry.chip_id = npu.chip_id;
    entry.template_name.assign(wanted.template_name,
                               strnlen(wanted.template_name, sizeof wanted.template_name));
    if (wanted.vfg_id != DCMI_VDEV_AUTO) entry.vgroup = wanted.vfg_id;
    std::erase_if(file.entries, [vdev_id](const RecoverEntry& old) { return old.vdev_id == vdev_id; });
    file.entries.push_back(std::move(entry));
    return true;
  });
}

int forget(const NpuRecord& npu, unsigned int vdev_id) {
  return change_recover_file([&](RecoverFile& file) {
    if (!file.enabled) return false;
    return std::erase_if(file.entries, [&](const RecoverEntry& entry) {
             return entry.phy_id == npu.phy_id && (vdev_id == DCMI_VDEV_ALL || entry.vdev_id == vdev_id);
           }) != 0;
  });
}

int create(int card, int device, const CreateVdevBody& body, CreateVdevReply* made) {
  return Driver::instance().ask(card, device, RequestType::kCreateVdev, body, made);
}

int destroy(int card, int device, unsigned int vdev_id) {
  return Driver::instance().tell(card, device, RequestType::kDestroyVdev,
                                 ascendsim::DestroyVdevBody{vdev_id, 0});
}

// What a destroyed device was made of, so that it can be made again. Nothing for all, or when it is not
// there.
std::optional<CreateVdevBody> shape_of(int card, int device, unsigned int vdev_id) {
  Chip chip;
  if (vdev_id == DCMI_VDEV_ALL || read_chip(card, device, &chip) != DCMI_OK) return std::nullopt;
  const auto found = std::ranges::find(chip.vdevs, vdev_id, &VdevRecord::vdev_id);
  if (found == chip.vdevs.end()) return std::nullopt;
  CreateVdevBody body{found->vdev_id, ascendsim::kAnyNumber, {}};
  copy_text(found->template_name, body.template_name);
  return body;
}

}  // namespace

extern "C" {

int dcmi_create_vdevice(int card_id, int device_id, struct dcmi_create_vdev_res_stru* wanted,
                        struct dcmi_create_vdev_out* made) {
  if (wanted == nullptr || made == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  NpuRecord npu{};
  if (const int code = Driver::instance().read(card_id, device_id, &npu); code != DCMI_OK) return code;
  CreateVdevBody body{wanted->vdev_id, wanted->vfg_id, {}};
  const std::size_t length = strnlen(wanted->template_name, sizeof wanted->template_name);
  if (length == 0 || length >= sizeof body.template_name) return DCMI_ERR_CODE_INVALID_PARAMETER;
  std::memcpy(body.template_name, wanted->template_name, length);
  CreateVdevReply reply{};
  if (const int code = create(card_id, device_id, body, &reply); code != DCMI_OK) return code;
  // The device is there; its node is not yet. A process that dies now leaves it behind.
  usleep(reply.settle_ms * 1000);
  if (const int code = save(npu, *wanted, reply.vdev_id); code != DCMI_OK) {
    destroy(card_id, device_id, reply.vdev_id);
    return code;
  }
  *made = {};
  made->vdev_id = reply.vdev_id;
  made->pcie_bus = reply.pci_bus;
  made->pcie_device = reply.pci_device;
  made->pcie_func = reply.pci_function;
  made->vfg_id = reply.vgroup;
  return DCMI_OK;
}

int dcmi_set_destroy_vdevice(int card_id, int device_id, unsigned int vdev_id) {
  NpuRecord npu{};
  if (const int code = Driver::instance().read(card_id, device_id, &npu); code != DCMI_OK) return code;
  const auto shape = shape_of(card_id, device_id, vdev_id);
  if (const int code = destroy(card_id, device_id, vdev_id); code != DCMI_OK) return code;
  const int code = forget(npu, vdev_id);
  // The vendor's library undoes the destroy when it cannot forget the device.
  CreateVdevReply again{};
  if (code != DCMI_OK && shape) create(card_id, device_id, *shape, &again);
  return code;
}

int dcmi_get_device_info(int card_id, int device_id, enum dcmi_main_cmd main_cmd, unsigned int sub_cmd,
                         void* buffer, unsigned int* size) {
  if (buffer == nullptr || size == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  if (main_cmd != DCMI_MAIN_CMD_VDEV_MNG) return DCMI_ERR_CODE_NOT_SUPPORT;
  Chip chip;
  if (const int code = read_chip(card_id, device_id, &chip); code != DCMI_OK) return code;
  switch (sub_cmd) {
    case DCMI_VMNG_SUB_CMD_GET_VDEV_RESOURCE:
      return give_vdev(chip, false, buffer, size);
    case DCMI_VMNG_SUB_CMD_GET_TOTAL_RESOURCE:
      return give_total(chip, buffer, size);
    case DCMI_VMNG_SUB_CMD_GET_FREE_RESOURCE:
      return give_left(chip, buffer, size);
    case DCMI_VMNG_SUB_CMD_GET_VDEV_ACTIVITY:
      return give_vdev(chip, true, buffer, size);
    default:
      return DCMI_ERR_CODE_NOT_SUPPORT;
  }
}

int dcmi_set_device_info(int card_id, int device_id, enum dcmi_main_cmd main_cmd, unsigned int sub_cmd,
                         const void* buffer, unsigned int size) {
  if (buffer == nullptr || size < sizeof(unsigned int)) return DCMI_ERR_CODE_INVALID_PARAMETER;
  if (main_cmd != DCMI_MAIN_CMD_VDEV_MNG || sub_cmd != DCMI_VMNG_SUB_CMD_SET_SRIOV_SWITCH) {
    return DCMI_ERR_CODE_NOT_SUPPORT;
  }
  NpuRecord npu{};
  if (const int code = Driver::instance().read(card_id, device_id, &npu); code != DCMI_OK) return code;
  if ((npu.flags & ascendsim::kNpuHasSriov) == 0) return DCMI_ERR_CODE_NOT_SUPPORT;
  unsigned int on = 0;
  std::memcpy(&on, buffer, sizeof on);
  if (on > 1) return DCMI_ERR_CODE_INVALID_PARAMETER;
  // A create turns it on and the last destroy turns it off; by hand it cannot go off under a device.
  const bool cut = (npu.flags & ascendsim::kNpuIsCut) != 0;
  return on == 0 && cut ? DCMI_ERR_CODE_OPER_NOT_PERMITTED : DCMI_OK;
}

}  // extern "C"

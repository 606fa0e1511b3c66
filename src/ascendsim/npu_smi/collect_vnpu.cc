#include <algorithm>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/npu_smi/collect.h"

namespace ascendsim::npu_smi {
namespace {

constexpr unsigned short kUnknownShort = 0xFFFF;
constexpr unsigned int kUnknownInt = 0xFFFFFFFF;

std::optional<double> units(float value) {
  return value < 0 ? std::nullopt : std::optional<double>(value);
}

std::optional<double> cpus(unsigned short value) {
  return value == kUnknownShort ? std::nullopt : std::optional<double>(value);
}

template <class Struct>
int query(int card, int chip, unsigned int command, Struct* answer) {
  unsigned int size = sizeof *answer;
  return dcmi_get_device_info(card, chip, DCMI_MAIN_CMD_VDEV_MNG, command, answer, &size);
}

void fill_amounts(const dcmi_soc_free_resource& left, const dcmi_soc_total_resource& total, VnpuChip* chip) {
  chip->ai_cores = {units(left.computing.aic), units(total.computing.aic)};
  chip->memory_mb = {static_cast<double>(left.computing.memory_size),
                     static_cast<double>(total.computing.memory_size)};
  chip->ai_cpus = {cpus(left.computing.device_aicpu), cpus(total.computing.device_aicpu)};
  chip->vpc = {units(left.media.vpc), units(total.media.vpc)};
  chip->venc = {units(left.media.venc), units(total.media.venc)};
  chip->vdec = {units(left.media.vdec), units(total.media.vdec)};
  chip->jpegd = {units(left.media.jpegd), units(total.media.jpegd)};
  chip->jpege = {units(left.media.jpege), units(total.media.jpege)};
  chip->pngd = {units(left.media.pngd), units(total.media.pngd)};
}

}  // namespace

int collect_vnpus(int card, int device, VnpuChip* chip) {
  dcmi_soc_total_resource total{};
  dcmi_soc_free_resource left{};
  int code = query(card, device, DCMI_VMNG_SUB_CMD_GET_TOTAL_RESOURCE, &total);
  if (code == DCMI_OK) code = query(card, device, DCMI_VMNG_SUB_CMD_GET_FREE_RESOURCE, &left);
  if (code != DCMI_OK) return code;
  fill_amounts(left, total, chip);
  for (unsigned int i = 0; i < std::min(total.vdev_num, static_cast<unsigned int>(DCMI_VDEV_MAX)); ++i) {
    dcmi_vdev_query_stru vdev{};
    vdev.vdev_id = total.vdev_id[i];
    if (query(card, device, DCMI_VMNG_SUB_CMD_GET_VDEV_RESOURCE, &vdev) != DCMI_OK) continue;
    const dcmi_vdev_query_info& info = vdev.query_info;
    VnpuRow row;
    row.id = vdev.vdev_id;
    if (info.vfg_id != kUnknownInt) row.vgroup = info.vfg_id;
    row.container_id = info.container_id;
    row.status = info.is_container_used;
    row.template_name = info.name;
    chip->rows.push_back(std::move(row));
  }
  return DCMI_OK;
}

}  // namespace ascendsim::npu_smi

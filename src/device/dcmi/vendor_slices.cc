#include "device/dcmi/vendor_slices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "device/dcmi/plausible.h"

namespace tangram::device {
namespace {

constexpr unsigned char kUnknownFill = 0xFF;
constexpr std::size_t kRoomBytes = 1024;  // for the fields of later releases

Field<std::uint32_t> milli(std::int32_t code, float units, std::uint32_t max) {
  const bool plausible = std::isfinite(units) && units >= 0 && units <= static_cast<float>(max);
  const auto value = plausible ? static_cast<std::uint32_t>(std::lround(units * kMilli)) : 0U;
  return checked<std::uint32_t>(code, value, plausible);
}

ResourceReading resources_of(std::int32_t code, const abi::ComputingResource& computing,
                             const abi::MediaResource& media) {
  ResourceReading out;
  out.ai_cores_milli = milli(code, computing.ai_cores, kAiCoresMax);
  const bool memory_plausible = computing.memory_size_mb <= kMemoryMbMax;
  out.memory_bytes = checked<std::uint64_t>(
      code, memory_plausible ? computing.memory_size_mb * kBytesPerMb : 0, memory_plausible);
  out.ai_cpus = checked<std::uint32_t>(code, computing.device_aicpus, computing.device_aicpus <= kAiCpusMax);
  out.vpc_milli = milli(code, media.vpc, kEngineUnitsMax);
  out.venc_milli = milli(code, media.venc, kEngineUnitsMax);
  out.vdec_milli = milli(code, media.vdec, kEngineUnitsMax);
  out.jpegd_milli = milli(code, media.jpegd, kEngineUnitsMax);
  out.jpege_milli = milli(code, media.jpege, kEngineUnitsMax);
  out.pngd_milli = milli(code, media.pngd, kEngineUnitsMax);
  return out;
}

Field<bool> flag(std::int32_t code, std::uint32_t value) {
  return checked(code, value == 1, value <= 1);
}

}  // namespace

VendorSlices::VendorSlices(const Symbols& symbols, const VendorCaller& caller)
    : symbols_(symbols), call_(caller) {}

// A release that has grown the structure refuses the size of today, and is asked again with room to spare.
template <class T>
std::int32_t VendorSlices::ask(NpuAddress at, std::uint32_t sub_command, T& in_out) {
  struct {
    T value;
    unsigned char room[kRoomBytes];
  } buffer;
  std::int32_t code = abi::kOk;
  for (const std::size_t offered : {sizeof(T), sizeof(buffer)}) {
    std::memset(&buffer, kUnknownFill, sizeof buffer);
    std::memcpy(&buffer.value, &in_out, sizeof in_out);
    auto size = static_cast<unsigned int>(offered);
    code = call_("dcmi_get_device_info", symbols_.device_info, at.card, at.device, abi::kMainVdevManagement,
                 sub_command, static_cast<void*>(&buffer), &size);
    if (code == abi::kOk && size > sizeof buffer) return kCodeImplausible;
    if (code != abi::kInvalidParameter) break;
  }
  std::memcpy(&in_out, &buffer.value, sizeof in_out);
  return code;
}

NpuSlicing VendorSlices::read(NpuAddress at) {
  NpuSlicing slicing;
  abi::TotalResource total;
  std::memset(&total, kUnknownFill, sizeof total);
  const std::int32_t total_code = ask(at, abi::kSubTotalResource, total);
  slicing.total = resources_of(total_code, total.computing, total.media);

  abi::FreeResource free;
  std::memset(&free, kUnknownFill, sizeof free);
  const std::int32_t free_code = ask(at, abi::kSubFreeResource, free);
  slicing.free = resources_of(free_code, free.computing, free.media);

  int share = -1;
  const std::int32_t share_code =
      call_("dcmi_get_device_share_enable", symbols_.device_share, at.card, at.device, &share);
  slicing.device_share = flag(share_code, static_cast<std::uint32_t>(share));

  bool plausible = total_code != abi::kOk || total.vnpu_count <= abi::kVnpusListedMax;
  std::vector<VnpuReading> vnpus;
  for (std::uint32_t i = 0; total_code == abi::kOk && plausible && i < total.vnpu_count; ++i) {
    const std::uint32_t id = total.vnpu_ids[i];
    plausible = is_vnpu_id(id);
    if (!plausible) break;
    std::int32_t code = abi::kOk;
    VnpuReading vnpu = query(at, id, code);
    // It ended between the two questions. After any other failure it is there, whatever it is.
    if (code != abi::kDeviceNotExist) vnpus.push_back(std::move(vnpu));
  }
  std::sort(vnpus.begin(), vnpus.end(),
            [](const VnpuReading& a, const VnpuReading& b) { return a.id < b.id; });
  slicing.vnpus = checked(total_code, std::move(vnpus), plausible);
  return slicing;
}

VnpuReading VendorSlices::query(NpuAddress at, std::uint32_t vnpu_id, std::int32_t& code) {
  abi::VnpuQuery raw;
  std::memset(&raw, kUnknownFill, sizeof raw);
  raw.vnpu_id = vnpu_id;
  code = ask(at, abi::kSubVdevResource, raw);
  const abi::VnpuInfo& info = raw.info;
  VnpuReading vnpu;
  vnpu.id = vnpu_id;
  std::string name = text_of(info.name);
  const bool name_plausible = is_template_name(name);
  vnpu.template_name = checked(code, std::move(name), name_plausible);
  vnpu.container_used = flag(code, info.is_container_used);
  vnpu.container_id = checked<std::uint64_t>(code, info.container_id, true);
  vnpu.vgroup_id = checked<std::uint32_t>(code, info.vgroup_id, info.vgroup_id < kVgroupsMax);
  vnpu.resources = resources_of(code, info.computing, info.media);
  if (code == abi::kOk) read_activity(at, vnpu);
  return vnpu;
}

// A question of its own, which only some families answer.
void VendorSlices::read_activity(NpuAddress at, VnpuReading& vnpu) {
  abi::VnpuQuery raw;
  std::memset(&raw, kUnknownFill, sizeof raw);
  raw.vnpu_id = vnpu.id;
  const std::int32_t code = ask(at, abi::kSubVdevActivity, raw);
  const std::uint64_t total_kb = raw.info.computing.vnpu_memory_total_kb;
  const std::uint64_t free_kb = raw.info.computing.vnpu_memory_free_kb;
  const std::uint32_t percent = raw.info.computing.vnpu_aicore_percent;
  const bool total_plausible = total_kb > 0 && total_kb <= kMemoryMbMax * 1024;
  const bool used_plausible = total_plausible && free_kb <= total_kb;
  vnpu.memory_usable_bytes =
      checked<std::uint64_t>(code, total_plausible ? total_kb * kBytesPerKb : 0, total_plausible);
  vnpu.memory_used_bytes =
      checked<std::uint64_t>(code, used_plausible ? (total_kb - free_kb) * kBytesPerKb : 0, used_plausible);
  vnpu.aicore_percent = checked<std::uint32_t>(code, percent, percent <= 100);
}

HostModes VendorSlices::modes() {
  HostModes modes;
  unsigned int recover = UINT32_MAX;
  const std::int32_t recover_code =
      call_("dcmi_get_vnpu_config_recover_mode", symbols_.recover_mode, &recover);
  modes.slices_recover = flag(recover_code, recover);
  int mode = -1;
  const std::int32_t mode_code = call_("dcmi_get_vdevice_mode", symbols_.vnpu_mode, &mode);
  modes.for_containers = checked(mode_code, mode == abi::kModeContainer,
                                 mode == abi::kModeContainer || mode == abi::kModeVirtualMachine);
  return modes;
}

Field<std::uint32_t> VendorSlices::create(NpuAddress at, std::uint32_t vnpu_id,
                                          const std::string& template_name, std::int32_t vgroup) {
  const bool id_fits = vnpu_id == abi::kVnpuIdAuto || is_vnpu_id(vnpu_id);
  const bool vgroup_fits = vgroup == kNoVgroup || (vgroup >= 0 && vgroup < std::int32_t{kVgroupsMax});
  if (!id_fits || !vgroup_fits || !is_template_name(template_name)) {
    return Field<std::uint32_t>::unknown(abi::kInvalidParameter);
  }
  Roomy<abi::CreateVnpuOrder> order;
  order.value.vnpu_id = vnpu_id;
  order.value.vgroup_id = vgroup == kNoVgroup ? abi::kVgroupAuto : static_cast<std::uint32_t>(vgroup);
  template_name.copy(&order.value.template_name[0], abi::kTemplateNameMax);
  Roomy<abi::CreatedVnpu> created;
  const std::int32_t code =
      call_("dcmi_create_vdevice", symbols_.create_vnpu, at.card, at.device, &order.value, &created.value);
  if (code != abi::kOk) return Field<std::uint32_t>::unknown(code);
  // Known even if it is nonsense: the call succeeded, and a look tells what it made.
  return Field<std::uint32_t>::known(created.value.vnpu_id);
}

std::int32_t VendorSlices::destroy(NpuAddress at, std::uint32_t vnpu_id) {
  if (!is_vnpu_id(vnpu_id)) return abi::kInvalidParameter;
  return call_("dcmi_set_destroy_vdevice", symbols_.destroy_vnpu, at.card, at.device, vnpu_id);
}

std::int32_t VendorSlices::set_slices_recover(bool on) {
  return call_("dcmi_set_vnpu_config_recover_mode", symbols_.set_recover_mode,
               on ? abi::kRecoverOn : abi::kRecoverOff);
}

std::int32_t VendorSlices::set_device_share(NpuAddress at, bool on) {
  return call_("dcmi_set_device_share_enable", symbols_.set_device_share, at.card, at.device, on ? 1 : 0);
}

}  // namespace tangram::device

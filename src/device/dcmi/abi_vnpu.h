// The part of the DCMI C ABI that is about vNPUs and modes (LP64, from the published layout). What a driver
// does not know of a resource it leaves as all ones, or as -1 in a float.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tangram::device::abi {

inline constexpr std::uint32_t kVnpuIdMin = 100;
inline constexpr std::uint32_t kVnpuIdMax = 1123;         // 1024 on a machine
inline constexpr std::uint32_t kVnpuIdAuto = UINT32_MAX;  // the driver chooses
inline constexpr std::uint32_t kVgroupAuto = UINT32_MAX;
inline constexpr std::uint32_t kVnpusListedMax = 32;
inline constexpr std::size_t kTemplateNameMax = 15;  // a vNPU's name has 16 bytes with the end of the text

// Of dcmi_get_device_info.
inline constexpr std::int32_t kMainVdevManagement = 52;
inline constexpr std::uint32_t kSubVdevResource = 0;
inline constexpr std::uint32_t kSubTotalResource = 1;
inline constexpr std::uint32_t kSubFreeResource = 2;
inline constexpr std::uint32_t kSubVdevActivity = 5;

// Of dcmi_get_vdevice_mode and dcmi_get_vnpu_config_recover_mode.
inline constexpr std::int32_t kModeContainer = 0;
inline constexpr std::int32_t kModeVirtualMachine = 1;
inline constexpr std::uint32_t kRecoverOff = 0;
inline constexpr std::uint32_t kRecoverOn = 1;

struct BaseResource {
  std::uint64_t token;
  std::uint64_t token_max;
  std::uint64_t task_timeout;
  std::uint32_t vgroup_id;
  std::uint8_t vip_mode;
  unsigned char reserved[31];
};
static_assert(sizeof(BaseResource) == 64 && offsetof(BaseResource, vgroup_id) == 24);

struct ComputingResource {
  float ai_cores;
  float ai_vectors;
  std::uint16_t dsa;
  std::uint16_t rtsq;
  std::uint16_t acsq;
  std::uint16_t cdqm;
  std::uint16_t c_core;
  std::uint16_t ffts;
  std::uint16_t sdma;
  std::uint16_t pcie_dma;
  std::uint64_t memory_size_mb;
  std::uint32_t events;
  std::uint32_t notifies;
  std::uint32_t streams;
  std::uint32_t models;
  std::uint16_t topic_schedule_aicpus;
  std::uint16_t host_control_cpus;
  std::uint16_t host_aicpus;
  std::uint16_t device_aicpus;
  std::uint16_t topic_control_cpu_slots;
  std::uint32_t vnpu_aicore_percent;   // kSubVdevActivity only
  std::uint64_t vnpu_memory_total_kb;  // kSubVdevActivity only
  std::uint64_t vnpu_memory_free_kb;   // kSubVdevActivity only
  unsigned char reserved[12];
};
static_assert(sizeof(ComputingResource) == 96 && offsetof(ComputingResource, memory_size_mb) == 24 &&
              offsetof(ComputingResource, device_aicpus) == 54 &&
              offsetof(ComputingResource, vnpu_aicore_percent) == 60 &&
              offsetof(ComputingResource, vnpu_memory_free_kb) == 72);

struct MediaResource {
  float jpegd;
  float jpege;
  float vpc;
  float vdec;
  float pngd;
  float venc;
  unsigned char reserved[32];
};
static_assert(sizeof(MediaResource) == 56);

struct CreateVnpuOrder {
  std::uint32_t vnpu_id;
  std::uint32_t vgroup_id;
  char template_name[32];
  unsigned char reserved[64];
};
static_assert(sizeof(CreateVnpuOrder) == 104 && offsetof(CreateVnpuOrder, template_name) == 8);

struct CreatedVnpu {
  std::uint32_t vnpu_id;
  std::uint32_t pcie_bus;
  std::uint32_t pcie_device;
  std::uint32_t pcie_function;
  std::uint32_t vgroup_id;
  unsigned char reserved[32];
};
static_assert(sizeof(CreatedVnpu) == 52);

struct VnpuInfo {
  unsigned char name[16];
  std::uint32_t status;
  std::uint32_t is_container_used;
  std::uint32_t function_id;
  std::uint32_t vgroup_id;
  std::uint64_t container_id;
  BaseResource base;
  ComputingResource computing;
  MediaResource media;
};
static_assert(sizeof(VnpuInfo) == 256 && offsetof(VnpuInfo, container_id) == 32 &&
              offsetof(VnpuInfo, computing) == 104 && offsetof(VnpuInfo, media) == 200);

struct VnpuQuery {
  std::uint32_t vnpu_id;  // in
  VnpuInfo info;          // out
};
static_assert(sizeof(VnpuQuery) == 264 && offsetof(VnpuQuery, info) == 8);

struct FreeResource {
  std::uint32_t vgroup_count;
  std::uint32_t vgroup_bitmap;
  BaseResource base;
  ComputingResource computing;
  MediaResource media;
};
static_assert(sizeof(FreeResource) == 224 && offsetof(FreeResource, computing) == 72);

struct TotalResource {
  std::uint32_t vnpu_count;
  std::uint32_t vnpu_ids[kVnpusListedMax];
  std::uint32_t vgroup_count;
  std::uint32_t vgroup_bitmap;
  BaseResource base;
  ComputingResource computing;
  MediaResource media;
};
static_assert(sizeof(TotalResource) == 360 && offsetof(TotalResource, base) == 144 &&
              offsetof(TotalResource, computing) == 208 && offsetof(TotalResource, media) == 304);

using CreateVnpu = int(int card, int device, CreateVnpuOrder* order, CreatedVnpu* created);
using DestroyVnpu = int(int card, int device, unsigned int vnpu_id);
using GetDeviceInfo = int(int card, int device, int main_command, unsigned int sub_command, void* buffer,
                          unsigned int* size);
using GetVnpuMode = int(int* mode);
using GetRecoverMode = int(unsigned int* mode);
using SetRecoverMode = int(unsigned int mode);
using GetDeviceShare = int(int card, int device, int* enabled);
using SetDeviceShare = int(int card, int device, int enabled);
using GetMcuVersion = int(int card, char* version, int length, int* used);

}  // namespace tangram::device::abi

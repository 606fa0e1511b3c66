// The part of the DCMI C ABI that Tangram reads, declared from the published layout (LP64) and not from a
// vendor header, so that the product builds on a machine without the driver. libdcmi.so exports these as
// plain C symbols; every function returns 0 or one of the codes below. Calls are not documented as
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tangram::device::abi {

// Bounds of the vendor's tables.
inline constexpr int kCardsMax = 64;
inline constexpr int kDevicesPerCardMax = 4;
inline constexpr int kVersionBytesMax = 255;
inline constexpr int kErrorCodesMax = 128;
inline constexpr int kProcessesMax =
    512;  // the driver lists 32 a chip today; a generous buffer survives growth

enum ReturnCode : std::int32_t {
  kOk = 0,
  kInvalidParameter = -8001,
  kNotPermitted = -8002,
  kMemory = -8003,
  kSecureFunction = -8004,
  kInner = -8005,
  kTimeout = -8006,
  kInvalidDevice = -8007,
  kDeviceNotExist = -8008,
  kIoctl = -8009,
  kSend = -8010,
  kReceive = -8011,
  kNotReady = -8012,
  kNotInContainer = -8013,  // also what "device busy" becomes
  kFile = -8014,
  kReset = -8015,
  kAborted = -8016,
  kUpgrading = -8017,
  kOccupied = -8020,
  kPartition = -8022,
  kConfigMissing = -8023,
  kNotSupported = -8255,
};

inline constexpr std::int32_t kUnitNpu = 0;  // dcmi_unit_type; 1 is the MCU, 2 a CPU

// Health: 0 fine, 1 minor, 2 major, 3 critical.
inline constexpr std::uint32_t kHealthAbsent = 0xFFFFFFFFU;

// Types of dcmi_get_device_utilization_rate.
inline constexpr std::int32_t kUtilisationAiCore = 2;

// dcmi_die_type; the VDIE number is the chip's unique id.
inline constexpr std::int32_t kVdie = 1;

struct ChipInfo {
  unsigned char chip_type[32];
  unsigned char chip_name[32];
  unsigned char chip_version[32];
  std::uint32_t aicore_count;
};
static_assert(sizeof(ChipInfo) == 100 && offsetof(ChipInfo, aicore_count) == 96);

struct BoardInfo {
  std::uint32_t board_id;
  std::uint32_t pcb_id;
  std::uint32_t bom_id;
  std::uint32_t slot_id;
};
static_assert(sizeof(BoardInfo) == 16);

struct PcieInfo {
  std::uint32_t vendor_id;
  std::uint32_t subvendor_id;
  std::uint32_t device_id;
  std::uint32_t subdevice_id;
  std::int32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t function;
  unsigned char reserved[32];
};
static_assert(sizeof(PcieInfo) == 64 && offsetof(PcieInfo, domain) == 16);

struct DieId {
  std::uint32_t words[5];
};
static_assert(sizeof(DieId) == 20);

struct HbmInfo {
  std::uint64_t memory_size_mb;
  std::uint32_t frequency_mhz;
  std::uint64_t memory_usage_mb;
  std::int32_t temperature_celsius;
  std::uint32_t bandwidth_utilisation_percent;
};
static_assert(sizeof(HbmInfo) == 32 && offsetof(HbmInfo, memory_usage_mb) == 16);

struct MemoryInfo {
  std::uint64_t memory_size_mb;
  std::uint64_t memory_available_mb;
  std::uint32_t frequency_mhz;
  unsigned long hugepage_size_kb;
  unsigned long hugepages_total;
  unsigned long hugepages_free;
  std::uint32_t utilisation_percent;
  unsigned char reserved[60];
};
static_assert(sizeof(MemoryInfo) == 112 && offsetof(MemoryInfo, utilisation_percent) == 48);

struct ProcessMemory {
  std::int32_t process_id;  // host pid
  unsigned long bytes;
};
static_assert(sizeof(ProcessMemory) == 16 && offsetof(ProcessMemory, bytes) == 8);

using Init = int();
using GetVersion = int(char* version, unsigned int length);
using GetCardList = int(int* count, int* list, int length);
using GetDeviceCount = int(int card, int* count);
using GetDeviceType = int(int card, int device, int* unit_type);
using GetLogicId = int(int* logic_id, int card, int device);
using GetPhyId = int(unsigned int logic_id, unsigned int* phy_id);
using GetChipInfo = int(int card, int device, ChipInfo* info);
using GetBoardInfo = int(int card, int device, BoardInfo* info);
using GetPcieInfo = int(int card, int device, PcieInfo* info);
using GetDie = int(int card, int device, int die_type, DieId* die);
using GetHealth = int(int card, int device, unsigned int* health);
using GetErrorCodes = int(int card, int device, int* count, unsigned int* list, unsigned int length);
using GetHbmInfo = int(int card, int device, HbmInfo* info);
using GetMemoryInfo = int(int card, int device, MemoryInfo* info);
using GetUtilisation = int(int card, int device, int type, unsigned int* percent);
using GetTemperature = int(int card, int device, int* celsius);
using GetPower = int(int card, int device, int* tenth_watts);
using GetMcuPower = int(int card, int* tenth_watts);
using GetProcesses = int(int card, int device, ProcessMemory* list, int* count);

}  // namespace tangram::device::abi

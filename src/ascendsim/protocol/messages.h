// What the client libraries (libascendcl.so, libdcmi.so) and ascendsimd say to each other. A private protocol
// of the simulated driver: both ends are built from this header, and no other program may rely on it.
//
// One Unix socket of type SOCK_SEQPACKET. A request is one packet: RequestHeader, then the body named beside
// the request type. The answer is one packet: ReplyHeader, then the reply body, then `record_count` records.
// Exactly one answer per request, in order. A packet of a wrong size, magic or version closes the connection.
//
// Every `npu` in a request is a *logic id*: the index into the NPUs that this peer may use, in ascending
// order of their physical id. ascendsimd works that list out from the peer's root directory and device
// cgroup.
//
// Plain structs of fixed layout, native byte order, no padding that is not named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ascendsim {

constexpr std::uint32_t kMagic = 0x414E5055;  // "ANPU"
constexpr std::uint32_t kProtocolVersion = 2;

constexpr std::size_t kPacketBytesMax = 64 * 1024;
constexpr std::uint32_t kNpusMax = 64;
constexpr std::uint32_t kProcessRecordsMax = 256;

enum class RequestType : std::uint32_t {
  kMachine = 1,         // no body                -> MachineReply, NpuRecord[npu_count]
  kProcesses = 2,       // no body                -> ProcessRecord[], processes that hold memory on `npu`
  kAttach = 3,          // no body                -> AttachReply and two descriptors: ring memory, bell
  kOpenDevice = 4,      // no body                -> OpenDeviceReply
  kCloseDevice = 5,     // no body; gives back everything this process holds on `npu`
  kAllocate = 6,        // AllocateBody           -> AllocateReply
  kFree = 7,            // FreeBody
  kMemory = 8,          // no body                -> MemoryReply
  kCreateStream = 9,    // CreateStreamBody       -> CreateStreamReply
  kDestroyStream = 10,  // DestroyStreamBody
  kSetHealth = 12,      // SetHealthBody; root only; `npu` is a physical id here
  kVnpus = 13,          // no body                -> VnpusReply, VdevRecord[]: the chip's virtual devices
  kCreateVdev = 14,     // CreateVdevBody         -> CreateVdevReply
  kDestroyVdev = 15,    // DestroyVdevBody
  kSetSetting = 16,     // SettingBody; of the chip `npu`, or of the host
  kGetSetting = 17,     // SettingBody, value ignored -> SettingBody
  kFaults = 18,         // no body                -> FaultRecord[]: what ails the NPU now
  kFaultEvents = 19,    // FaultEventsBody        -> FaultEventsReply, FaultRecord[]: of all NPUs of the peer
  kReset = 20,          // ResetBody
  kInject = 21,         // InjectBody; root of the host only; `npu` is a physical id here
};

enum class Status : std::int32_t {
  kOk = 0,
  kInvalid = 1,    // a field is out of range
  kNoSuchNpu = 2,  // the logic id is not one of this peer's NPUs
  kDenied = 3,
  kOutOfMemory = 4,  // the NPU has not that much memory left
  kLimit = 5,        // a count limit of the driver (allocations, streams, clients)
  kNotOpen = 6,      // the device was not opened by this process
  kLost = 7,         // the NPU has dropped off the bus
  kTimeout = 8,      // a task ran into the execution limit
  kAborted = 9,      // a task was thrown away with its stream
  kUnsupported = 10,
  kBusy = 11,        // in use in a way that keeps the driver from doing it
  kNoSuchVdev = 12,  // no virtual device of that id
  kOccupied = 13,    // another container holds the device
};

enum class Health : std::uint32_t { kOk = 0, kWarning = 1, kAlarm = 2, kCritical = 3, kAbsent = 0xFFFFFFFF };

struct RequestHeader {
  std::uint32_t magic;
  std::uint32_t version;
  RequestType type;
  std::uint32_t npu;
};

struct ReplyHeader {
  std::uint32_t magic;
  Status status;  // anything but kOk: neither body nor records follow
  std::uint32_t record_count;
  std::uint32_t record_bytes;
};

struct MachineReply {
  std::uint32_t npu_count;
  std::uint32_t in_container;  // 1: the peer lives in another mount namespace than ascendsimd
  char driver_version[32];     // "24.1.0", ends in NUL
};

constexpr std::uint32_t kNoVdev = 0xFFFFFFFF;
constexpr std::uint32_t kAnyNumber = 0xFFFFFFFF;     // the driver chooses
constexpr std::uint32_t kUnknownCount = 0xFFFFFFFF;  // the driver does not say
constexpr std::uint32_t kAllVdevs = 65535;

// Bits of NpuRecord::flags.
constexpr std::uint32_t kNpuIsCut = 1;        // it has virtual devices
constexpr std::uint32_t kNpuLoadUnknown = 2;  // no utilisation: cut, or a part of a cut chip
constexpr std::uint32_t kNpuHasSriov = 4;     // the family whose virtual devices are virtual functions

// One NPU, or one virtual device, that the peer may use. Texts end in NUL.
struct NpuRecord {
  std::uint32_t logic_id;  // 0, 1, … in this peer's numbering
  std::uint32_t phy_id;    // N of /dev/davinciN on the host; a virtual device's own number
  std::uint32_t card_id;   // "NPU ID" of npu-smi: the board; need not equal the physical id
  std::uint32_t chip_id;   // which chip of that board
  std::uint32_t board_id;
  std::uint32_t pci_domain;
  std::uint32_t pci_bus;
  std::uint32_t pci_device;
  std::uint32_t pci_function;
  std::uint32_t pci_vendor_id;
  std::uint32_t pci_device_id;
  std::uint32_t ai_cores;
  std::uint32_t vector_cores;
  std::uint32_t ai_cpus;
  Health health;
  std::int32_t temperature_celsius;
  std::uint32_t power_deciwatts;
  std::uint32_t voltage_centivolts;
  std::uint32_t aicore_mhz;
  std::uint32_t hbm_mhz;
  std::uint32_t aicore_percent;  // share of the last second in which the AI cores were busy
  std::uint32_t vector_percent;
  std::uint32_t memory_busy_percent;  // the same for the engines that copy on the device
  std::uint32_t process_count;        // visible to this peer
  std::uint32_t die_id[5];
  std::uint32_t vdev_id;  // kNoVdev: a whole NPU
  std::uint32_t flags;
  std::uint32_t boot_status;      // DCMI's number; kBootFinished: up
  std::uint32_t stall_ms;         // what a call about it takes longer; kAnyNumber: it does not return
  std::uint32_t ecc_single_bits;  // errors since the last reset
  std::uint32_t ecc_double_bits;
  std::uint32_t ecc_pages;            // isolated because of them
  std::uint64_t memory_bytes_total;   // all of the HBM
  std::uint64_t memory_bytes_used;    // device operating system and processes
  std::uint64_t memory_bytes_system;  // device operating system alone
  std::uint64_t l2_bytes;
  char chip_name[32];     // "910B4"
  char soc_name[32];      // "Ascend910B4", AscendCL name
  char chip_type[32];     // "Ascend"
  char chip_version[32];  // "V1"
};

constexpr std::uint32_t kBootFinished = 16;

struct ProcessRecord {
  std::int32_t host_pid;  // in ascendsimd's PID namespace
  std::uint32_t reserved;
  std::uint64_t bytes;  // memory it holds on the NPU, rounded to the driver's pages
  char name[64];        // from /proc/<pid>/comm, ends in NUL
};

enum class ComputeMode : std::uint32_t { kFull = 0, kSample = 1, kNone = 2 };

struct AttachReply {
  std::uint32_t npu_count;
  ComputeMode compute_mode;
  std::uint64_t ring_bytes;
};

struct OpenDeviceReply {
  std::uint32_t phy_id;
  std::uint32_t ai_cores;
  std::uint32_t vector_cores;
  std::uint32_t ai_cpus;
  std::uint64_t memory_bytes_usable;  // what programs can have: total less the device operating system
  std::uint64_t l2_bytes;
  std::uint32_t has_node;  // 0: the machine was started without device nodes
  std::uint32_t node_major;
  char soc_name[32];    // "Ascend910B4"
  char node_path[256];  // as seen from the peer's root
};

enum class PageSize : std::uint32_t { k4KiB = 0, k2MiB = 1, k1GiB = 2 };

struct AllocateBody {
  std::uint64_t bytes;
  PageSize page_size;
  std::uint32_t reserved;
};

struct AllocateReply {
  std::uint64_t allocation;     // handle for kFree; never 0
  std::uint64_t bytes_charged;  // rounded up to pages
};

struct FreeBody {
  std::uint64_t allocation;
};

struct MemoryReply {
  std::uint64_t bytes_usable;
  std::uint64_t bytes_free;
  std::uint64_t bytes_own;  // held by this process
  std::uint64_t bytes_own_peak;
};

constexpr std::uint32_t kPriorityHighest = 0;
constexpr std::uint32_t kPriorityLowest = 7;

struct CreateStreamBody {
  std::uint32_t priority;  // 0 first … 7 last
  std::uint32_t reserved;
};

struct CreateStreamReply {
  std::uint32_t stream;  // unique in this process, never 0
  std::uint32_t reserved;
};

struct DestroyStreamBody {
  std::uint32_t stream;
  std::uint32_t reserved;
};

struct SetHealthBody {
  Health health;
  std::uint32_t reserved;
};

// Of a chip, or what is left of it. A negative number or kUnknownCount: the driver does not say.
struct VnpuResourcesRecord {
  float ai_cores;
  float vpc;
  float venc;
  float vdec;
  float jpegd;
  float jpege;
  float pngd;
  std::uint32_t ai_cpus;
  std::uint32_t memory_mb;
  std::uint32_t vgroups;
  std::uint32_t vgroup_bitmap;
  std::uint32_t reserved;
};

struct VnpusReply {
  VnpuResourcesRecord total;
  VnpuResourcesRecord left;
};

struct VdevRecord {
  std::uint32_t vdev_id;
  std::uint32_t vfid;          // 1 … 16
  std::uint32_t vgroup;        // kUnknownCount: the family has none
  std::uint32_t in_use;        // by a container: from its first use of the driver to the end of its namespace
  std::uint64_t container_id;  // 0: none; 48 bits, all set under every runtime but Docker's own
  std::uint64_t memory_bytes_total;
  std::uint64_t memory_bytes_free;
  std::uint32_t aicore_percent;  // kUnknownCount: the driver does not say
  std::uint32_t ai_cores;
  std::uint32_t ai_cpus;
  float vpc;
  float venc;
  float vdec;
  float jpegd;
  float jpege;
  float pngd;
  std::uint32_t reserved;
  char template_name[32];
};

struct CreateVdevBody {
  std::uint32_t vdev_id;  // or kAnyNumber
  std::uint32_t vgroup;   // or kAnyNumber
  char template_name[32];
};

struct CreateVdevReply {
  std::uint32_t vdev_id;
  std::uint32_t vgroup;
  std::uint32_t pci_bus;
  std::uint32_t pci_device;
  std::uint32_t pci_function;
  std::uint32_t settle_ms;  // the device is there, but the library has to wait this long for its node
};

struct DestroyVdevBody {
  std::uint32_t vdev_id;  // or kAllVdevs
  std::uint32_t reserved;
};

enum class Setting : std::uint32_t {
  kVdeviceMode = 1,     // of the host: 0 docker, 1 VM
  kDeviceShare = 2,     // of a chip: 1 lets several containers hold it
  kMultiDiePolicy = 3,  // of the host: 0 the two dies of an A3 module are one, 1 each by itself
};

struct SettingBody {
  Setting setting;
  std::uint32_t value;
};

// A fault that there is, or an event of one.
struct FaultRecord {
  std::uint32_t logic_id;
  std::uint32_t code;
  std::uint32_t severity;   // 0 suggestion, 1 minor, 2 major, 3 critical
  std::uint32_t assertion;  // 0 over, 1 began, 2 happened once
  std::uint32_t node_type;
  std::uint32_t reserved;
  std::uint64_t serial;     // rising over all NPUs
  std::uint64_t raised_ms;  // since 1970
};
constexpr std::uint32_t kFaultRecordsMax = 256;

struct FaultEventsBody {
  std::uint64_t after;  // only events of a higher serial
};

struct FaultEventsReply {
  std::uint64_t latest;  // serial of the latest event, whether told or not
};

enum class ResetStep : std::uint32_t { kTakeAway = 1, kReset = 2, kBringBack = 3 };

struct ResetBody {
  ResetStep step;
  std::uint32_t reserved;
};

enum class Injection : std::uint32_t {
  kRaiseFault = 1,      // first: code, second: severity
  kClearFault = 2,      // first: code, or kAnyNumber for all
  kEccErrors = 3,       // first: count, second: 1 for double-bit errors
  kStall = 4,           // first: milliseconds, or kAnyNumber
  kFailCreates = 5,     // first: how many, second: 1 leaves the devices behind
  kRefuseDestroys = 6,  // first: how many, or kAnyNumber
  kLeakVdev = 7,        // text: template
  kReboot = 8,          // first: milliseconds until the chips are up; no NPU
};

struct InjectBody {
  Injection injection;
  std::uint32_t first;
  std::uint32_t second;
  std::uint32_t reserved;
  char text[32];
};

template <class T>
constexpr bool kIsMessage = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>;
static_assert(kIsMessage<NpuRecord> && kIsMessage<ProcessRecord> && kIsMessage<OpenDeviceReply>);
static_assert(kIsMessage<VdevRecord> && sizeof(VdevRecord) == 112 && sizeof(VnpusReply) == 96);
static_assert(kIsMessage<FaultRecord> && sizeof(FaultRecord) == 40 && sizeof(InjectBody) == 48);
static_assert(sizeof(CreateVdevBody) == 40 && sizeof(CreateVdevReply) == 24);
static_assert(sizeof(RequestHeader) == 16 && sizeof(ReplyHeader) == 16);
static_assert(sizeof(NpuRecord) == 144 + 32 + 128 && sizeof(ProcessRecord) == 80);
static_assert(sizeof(ReplyHeader) + sizeof(MachineReply) + kNpusMax * sizeof(NpuRecord) <= kPacketBytesMax);
static_assert(sizeof(ReplyHeader) + kProcessRecordsMax * sizeof(ProcessRecord) <= kPacketBytesMax);

}  // namespace ascendsim

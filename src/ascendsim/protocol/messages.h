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
constexpr std::uint32_t kProtocolVersion = 1;

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

// One NPU that the peer may use. Texts end in NUL.
struct NpuRecord {
  std::uint32_t logic_id;  // 0, 1, … in this peer's numbering
  std::uint32_t phy_id;    // N of /dev/davinciN on the host
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
  std::uint32_t reserved;
  std::uint64_t memory_bytes_total;   // all of the HBM
  std::uint64_t memory_bytes_used;    // device operating system and processes
  std::uint64_t memory_bytes_system;  // device operating system alone
  std::uint64_t l2_bytes;
  char chip_name[32];     // "910B4"
  char soc_name[32];      // "Ascend910B4", AscendCL name
  char chip_type[32];     // "Ascend"
  char chip_version[32];  // "V1"
};

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

template <class T>
constexpr bool kIsMessage = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>;
static_assert(kIsMessage<NpuRecord> && kIsMessage<ProcessRecord> && kIsMessage<OpenDeviceReply>);
static_assert(sizeof(RequestHeader) == 16 && sizeof(ReplyHeader) == 16);
static_assert(sizeof(NpuRecord) == 120 + 32 + 128 && sizeof(ProcessRecord) == 80);
static_assert(sizeof(ReplyHeader) + sizeof(MachineReply) + kNpusMax * sizeof(NpuRecord) <= kPacketBytesMax);
static_assert(sizeof(ReplyHeader) + kProcessRecordsMax * sizeof(ProcessRecord) <= kPacketBytesMax);

}  // namespace ascendsim

// Slices (vNPUs) as the devices show them, and what can be asked of the devices about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "model/slice.h"
#include "ports/sample.h"

namespace tangram {

// What an NPU, or a slice of it, has of each resource. Counts are in thousandths where drivers count in
// fractions. Which of them a driver tells differs from family to family.
struct SliceResources {
  Sample<std::int32_t> ai_cores_milli;
  Sample<Bytes> memory;  // nominal: what a template is named for, more than a program can allocate
  Sample<std::int32_t> ai_cpus;
  Sample<std::int32_t> vpc_milli;
  Sample<std::int32_t> venc_milli;
  Sample<std::int32_t> vdec_milli;
  Sample<std::int32_t> jpegd_milli;
  Sample<std::int32_t> jpege_milli;
  Sample<std::int32_t> pngd_milli;
};

struct DeviceSlice {
  std::uint32_t id = 0;               // vNPU id of the driver: the N of /dev/vdavinciN, unique on the machine
  Sample<std::string> template_name;  // "vir04"
  // True from the first use of the driver inside a container until that container's last process is gone.
  // False says little: a process of the host and a container that has not touched its slice yet both read
  // false.
  Sample<bool> container_used;
  // As the driver read it from the path of a docker cpuset; all ones under any other runtime. It never names
  // a Pod.
  Sample<std::uint64_t> container_id;
  Sample<std::uint32_t> vgroup_id;  // 310P: the group of AI cores that it was put in
  SliceResources resources;
  Sample<Bytes> memory_usable;  // what a program inside can allocate
  Sample<Bytes> memory_used;
  Sample<std::int32_t> ai_core_percent;
};

// What the support table says of cutting this board.
enum class SliceSupport : std::uint8_t {
  kUnknown,  // a board that is not in the table: the driver is asked, and believed
  kListed,   // a board whose templates are known
  kNotCut,   // a chip that no driver cuts
};

// How an NPU is cut, as its driver tells it.
struct DeviceSlicing {
  SliceSupport support = SliceSupport::kUnknown;
  std::string note;  // why slices are not valid, or what the support table warns of; else empty
  // A list that is not valid says nothing: there may be slices.
  Sample<std::vector<DeviceSlice>> slices;  // ascending by id
  SliceResources total;
  SliceResources free;
  Sample<bool> device_share;  // whether containers may share one device node
};

// Ids that a slice of this NPU can have: 100 + 16 * physical id and the fifteen after it.
inline constexpr std::uint32_t kSlicesPerNpuMax = 16;
constexpr std::uint32_t first_slice_id(std::uint32_t physical_id) {
  return 100 + kSlicesPerNpuMax * physical_id;
}
// False for 65535 on any NPU: as an id to destroy, that means all slices of a chip.
constexpr bool is_slice_id(std::uint32_t physical_id, std::uint32_t id) {
  return physical_id < 64 && id >= first_slice_id(physical_id) &&
         id - first_slice_id(physical_id) < kSlicesPerNpuMax;
}

// The file in which the vendor's library remembers slices, to cut them again after a boot.
struct RecoverFile {
  // kDamaged: its text is none that the library takes. kNotPlain: a link or anything else that is no plain
  // file. kExposed: others than root may read or write it. kLockUnusable: the file is well, but its lock is
  // no plain file or cannot be opened.
  enum class State : std::uint8_t {
    kUnknown,
    kSound,
    kDamaged,
    kUnwritable,
    kNotPlain,
    kExposed,
    kLockUnusable
  };

  State state = State::kUnknown;
  std::string path;
  std::string why;                // all but kUnknown and kSound
  std::int32_t error_number = 0;  // kUnwritable: errno
  std::string lock;               // its path
};

struct SliceOrder {
  std::uint32_t physical_id = 0;
  std::string template_name;
  // An id that the caller chose makes an interrupted order traceable: give one. None: the driver takes the
  // lowest free one.
  std::optional<std::uint32_t> id;
  // Of a chip with vGroups, where to cut it. kNoVgroup: the driver chooses, and may keep a core of the
  // slice's neighbours unused.
  std::int32_t vgroup = kNoVgroup;
};

// Reasons of errors, for the commands of Devices.
namespace slice_reason {
// Nothing is known of the outcome: the deadline passed, or the helper or the driver went away. The next look
// shows whether it took effect.
inline constexpr std::string_view kUnsettled = "device.command.unsettled";
// All others: nothing has changed.
inline constexpr std::string_view kInvalid = "device.slice.invalid";          // template or id cannot be
inline constexpr std::string_view kUnsupported = "device.slice.unsupported";  // this driver or chip cannot
inline constexpr std::string_view kNotPermitted = "device.slice.not_permitted";
inline constexpr std::string_view kNoCapacity = "device.slice.no_capacity";
inline constexpr std::string_view kExists = "device.slice.exists";  // the id is taken
inline constexpr std::string_view kInUse = "device.slice.in_use";
inline constexpr std::string_view kRefused = "device.slice.refused";  // by the driver, for a reason it hides
// By the driver, for it cannot use its own memory of slices, or the lock of that; see RecoverFile.
inline constexpr std::string_view kFileUnusable = "device.slice.file_unusable";
// The driver's memory of slices could not be changed; see RecoverFile.
inline constexpr std::string_view kNotForgotten = "device.slice.not_forgotten";
}  // namespace slice_reason

inline bool is_unsettled(const Error& error) {
  return error.reason == slice_reason::kUnsettled;
}

}  // namespace tangram

// The NPUs of this machine as the service sees them. Implemented by `device`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/npu.h"
#include "ports/device_slices.h"
#include "ports/sample.h"

namespace tangram {

struct DeviceProcess {
  std::int64_t pid = 0;  // host pid
  Bytes memory;
};

struct DeviceNpu {
  std::int32_t card_id = 0;  // "NPU ID" of npu-smi; never the physical id
  std::int32_t chip_id = 0;  // chip on that card
  std::int32_t logic_id = 0;
  std::uint32_t physical_id = 0;  // N of /dev/davinciN
  std::string chip;               // "910B4"
  Sample<std::uint32_t> board_id;
  std::string uuid;                // unique in the world, "-" between its groups; empty: unknown
  std::string pcie_address;        // "0000:C1:00.0"; empty: unknown
  std::int32_t chips_on_card = 0;  // NPUs that the driver lists on its board; 0: not known
  std::string mcu_version;         // of the board's controller; empty: unknown
  Health health = Health::kUnknown;
  std::string health_note;  // why it is not ok or not known
  Sample<std::int32_t> ai_cores;
  Sample<Bytes> memory_total;  // allocatable
  Sample<Bytes> memory_used;
  Sample<std::int32_t> ai_core_percent;
  Sample<std::int32_t> temperature_celsius;
  Sample<std::int32_t> power_milliwatt;
  Sample<std::vector<DeviceProcess>> processes;
  DeviceSlicing slicing;
};

// Something that happened to an NPU since the look before. Health and error codes say how things stand; an
// event is news, and may be lost when the vendor's library fails.
struct DeviceEvent {
  enum class Kind : std::uint8_t { kRecovered, kOccurred, kOnce };

  std::uint32_t physical_id = 0;
  std::uint32_t code = 0;     // as among the error codes of an NPU: 0x80E01801
  std::uint8_t severity = 0;  // 0 suggestion, 1 minor, 2 major, 3 critical
  Kind kind = Kind::kOnce;
  std::string name;
  std::uint64_t raised_at_ms = 0;  // of the device, since the epoch
};

// How the driver's version stands to those that this product is made for.
struct DriverStanding {
  enum class Kind : std::uint8_t { kUnknown, kBelow, kSupported };

  Kind kind = Kind::kUnknown;
  std::string note;  // what to know of a driver that is not known to be supported; else empty
};

struct DeviceScan {
  std::string driver_version;   // empty: unknown
  std::vector<DeviceNpu> npus;  // ascending by physical_id
  DriverStanding driver;
  // Whether the machine cuts its slices again after a reboot. Such a slice belongs to nobody by then.
  Sample<bool> slices_recover;
  RecoverFile recover_file;
  Sample<bool> slices_for_containers;  // false: for virtual machines; then no slice can be cut here
  std::vector<DeviceEvent> events;     // since the look before, in their order
};

// Thread-safe: calls wait for each other, a command for the look that is under way.
class Devices {
 public:
  virtual ~Devices() = default;

  // One look at every NPU. Bounded in time whatever the vendor's library does. An error (kUnavailable) means
  // that the driver or its library is away as a whole; one bad NPU is an entry with health kUnknown or
  // kAbsent.
  virtual Result<DeviceScan> scan() = 0;

  // Commands. Each is bounded in time, and is followed by a look at the NPU, so that success means that the
  // hardware shows it. Errors carry a reason of slice_reason, or that the NPU or the driver is away; only
  // after kUnsettled may anything have changed.

  // The slice as it is after that.
  virtual Result<DeviceSlice> create_slice(const SliceOrder& order) = 0;

  // Success, too, if there is no such slice. Refused for a slice that the device shows in use. Never more
  // than this slice: an id that is none of that NPU's (is_slice_id) is invalid.
  virtual Result<void> destroy_slice(std::uint32_t physical_id, std::uint32_t id) = 0;

  // Takes the slice out of what the driver would cut again after a boot (DeviceScan::recover_file), whether
  // it does so at present or not; a driver that does not forgets nothing by itself. Success, too, where there
  // is nothing to forget, and for a slice that the hardware shows: it is somebody's. kNotForgotten: the file
  // is damaged, locked or not to be written, and is as it was. Devices that remember nothing do nothing.
  virtual Result<void> forget_slice(std::uint32_t /*physical_id*/, std::uint32_t /*id*/) { return {}; }

  // Of the whole machine: DeviceScan::slices_recover.
  virtual Result<void> set_slices_recover(bool on) = 0;

  virtual Result<void> set_device_share(std::uint32_t physical_id, bool on) = 0;
};

}  // namespace tangram

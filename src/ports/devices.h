// The NPUs of this machine as the service sees them. Implemented by `device`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/npu.h"

namespace tangram {

// A reading and whether it is one: unknown is a value, never 0.
template <class T>
struct Sample {
  T value{};
  bool valid = false;

  static Sample known(T v) { return Sample{std::move(v), true}; }
};

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
  Health health = Health::kUnknown;
  std::string health_note;  // why it is not ok or not known
  Sample<std::int32_t> ai_cores;
  Sample<Bytes> memory_total;  // allocatable
  Sample<Bytes> memory_used;
  Sample<std::int32_t> ai_core_percent;
  Sample<std::int32_t> temperature_celsius;
  Sample<std::int32_t> power_milliwatt;
  Sample<std::vector<DeviceProcess>> processes;
};

struct DeviceScan {
  std::string driver_version;   // empty: unknown
  std::vector<DeviceNpu> npus;  // ascending by physical_id
};

class Devices {
 public:
  virtual ~Devices() = default;

  // One look at every NPU. Bounded in time whatever the vendor's library does. An error (kUnavailable) means
  // that the driver or its library is away as a whole; one bad NPU is an entry with health kUnknown or
  // kAbsent. All calls from one thread at a time.
  virtual Result<DeviceScan> scan() = 0;
};

}  // namespace tangram

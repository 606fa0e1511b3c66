// An NPU is one chip (the vendor's "device", davinciN): the unit of allocation and of quota.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/slice.h"

namespace tangram {

// As dcmi_get_device_health reports it, plus what we cannot know. Only kOk is handed out.
enum class Health : std::uint8_t { kUnknown, kOk, kWarning, kAlarm, kCritical, kAbsent };

// What an NPU is used for at this moment. kSliced: at least one slice stands on it, whoever made it. kShared
// exists in the model and is not handed out yet.
enum class NpuMode : std::uint8_t { kFree, kWhole, kSliced, kShared };

// One NPU as the device layer reports it to the core.
struct NpuReport {
  std::uint32_t physical_id = 0;  // N of /dev/davinciN
  std::string chip;               // "910B4"
  Bytes memory;                   // allocatable device memory
  std::int32_t ai_cores = 0;
  Health health = Health::kUnknown;
  // Whether slices can be cut here and now: chip, driver and executor agree.
  bool cuttable = false;
  std::string template_set = {};  // which chip of the catalogue, by name: its templates and legal mixes hold
  std::vector<StraySlice> strays = {};  // ascending by id; slices of jobs are not among them

  friend bool operator==(const NpuReport&, const NpuReport&) = default;
};

std::string_view to_string(Health health);
std::string_view to_string(NpuMode mode);

}  // namespace tangram

// Slices (vNPUs): parts of one NPU that its driver cuts by fixed templates.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace tangram {

// Not told, or a chip without vGroups.
inline constexpr std::int32_t kNoVgroup = -1;

// The slice that a job is given. Says itself what it comes to: a record must mean the same when the catalogue
// of chips has changed since.
struct SlicePlacement {
  std::string template_name;        // as the driver knows it: "vir04"
  std::int32_t vgroup = kNoVgroup;  // of the chip, from 0: where it is to be cut
  Bytes memory;                     // nominal: what is charged
  Bytes usable_memory;              // what a program in it finds as its total
  std::int32_t ai_cores = 0;

  friend bool operator==(const SlicePlacement&, const SlicePlacement&) = default;
};

// A slice that stands on an NPU and is no job's: of somebody else, or left behind.
struct StraySlice {
  std::uint32_t id = 0;       // vNPU id of the driver
  std::string template_name;  // empty: not told. Of an NPU with such a slice nothing is offered.
  std::int32_t vgroup = kNoVgroup;
  bool residual = false;  // no job holds it and nothing uses it: without it there would be room

  friend bool operator==(const StraySlice&, const StraySlice&) = default;
};

}  // namespace tangram

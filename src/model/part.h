// A job of several parts: containers of one Pod, each with NPUs or a slice of its own. All parts of a job
// stand on one node and are decided together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/ids.h"
#include "model/request.h"
#include "model/slice.h"

namespace tangram {

inline constexpr std::int32_t kPartsPerJobMax = 64;

struct Part {
  RequestKind kind = RequestKind::kWhole;  // not kShare
  std::int32_t npus = 1;                   // kWhole: how many, of one kind
  Bytes memory_per_npu;       // as in Request. What is charged while no NPU is known that would do.
  std::int32_t ai_cores = 0;  // kSlice: as in Request; kWhole: of each, for that charge alone
  std::string chip = {};      // as the driver names the model, "310P3"; empty: any

  friend bool operator==(const Part&, const Part&) = default;
};

// What one part was given.
struct PartPlace {
  std::vector<NpuIndex> npus;  // ascending; empty: it is not known where (of what is observed only)
  std::optional<SlicePlacement> slice = {};  // of its one NPU; none: whole NPUs

  friend bool operator==(const PartPlace&, const PartPlace&) = default;
};

}  // namespace tangram

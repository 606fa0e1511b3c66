// How one NPU is cut at this moment: what the state has of it and what the last look showed, put together,
// and where in its chip's table of states that is. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "placement/cut_rules.h"
#include "scheduler/scheduler.h"
#include "service/state.h"
#include "service/views.h"
#include "wire/slices.h"

namespace tangram::service {

// A slice that stands on an NPU. Refers to the NPU and the reading that it was made from.
struct CutSlice {
  wire::SliceStanding standing = wire::SliceStanding::kForeign;
  std::optional<std::uint32_t> id;  // none: of an attempt that has just ended
  std::string template_name;        // empty: not told
  std::int32_t vgroup = kNoVgroup;
  const NpuView::Slice* held = nullptr;  // kHeld
  const DeviceSlice* seen = nullptr;     // null: the last look does not show it
};

struct NpuCuts {
  std::vector<CutSlice> slices;  // of jobs, then those of nobody, then others; each ascending by id
  std::uint32_t chip = kNoChip;  // of the catalogue
  SliceState state = kNoState;   // kNoState: no mix of that chip
  bool resting = false;          // it has just refused a cut, and is not asked again at once
  SliceMix mix;                  // with a state: it; else the templates that are known, as tight as can be
};

// The driver's ids of the slices that this service has ordered.
struct OwnSlices {
  std::map<JobId, std::uint32_t> held;
  std::set<std::uint32_t> ended;  // not returned yet
};
OwnSlices own_slices(const State& state);

// `reading`: of that NPU; null: there is none.
NpuCuts look_at_cuts(const OwnSlices& own, const CutRules& rules, const NpuView& npu,
                     const DeviceNpu* reading);

// Whether it is nobody's any more, and the last look does not show it: it is gone, unless a call that was cut
// off makes it yet.
bool is_unseen(const CutSlice& slice, const DeviceNpu* reading);

// Of that NPU; null: the last look does not show it.
const DeviceNpu* find_reading(const DeviceReadings& readings, std::uint32_t physical_id);

}  // namespace tangram::service

// What is said of one node when a place is looked for. Values only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "model/ids.h"
#include "model/reason.h"

namespace tangram {

// Why an NPU of the model that is asked for will not do. The one that is nearest to doing comes first: it is
// what a node says of itself.
inline constexpr std::array<ReasonCode, 8> kNpuRefusals = {
    ReasonCode::kSlotsBusy,    ReasonCode::kSlicesResidual, ReasonCode::kMemoryBusy,
    ReasonCode::kNpusBusy,     ReasonCode::kNpusUnhealthy,  ReasonCode::kSliceUnsupported,
    ReasonCode::kAiCoresNever, ReasonCode::kMemoryNever};

// Which NPUs may be used, ascending.
struct NpuChoice {
  std::span<const NpuIndex> only;  // empty: any
  std::span<const NpuIndex> without;

  bool is_free() const { return only.empty() && without.empty(); }
};

struct NodeFit {
  bool fits = false;
  // Not kNone: it does not fit, and this is the least that would have to change. kNoDevices: the node shows
  // no NPU; kNpusNever: too few of the model that may be used.
  ReasonCode reason = ReasonCode::kNone;
  std::int32_t score = 0;  // 0 to 100, of a node that fits: the more, the less is lost by it
  // When it does not fit, for the first part that finds no place:
  std::int32_t npus = 0;                                      // of that model on the node
  std::int32_t excluded = 0;                                  // of those, not in the choice
  std::array<std::uint16_t, kNpuRefusals.size()> refusing{};  // of those, in the order of kNpuRefusals
  // What all parts come to, when it fits.
  std::int32_t whole_npus = 0;
  std::int32_t slices = 0;
  Bytes memory;
  std::int64_t ai_cores = 0;

  friend bool operator==(const NodeFit&, const NodeFit&) = default;
};

}  // namespace tangram

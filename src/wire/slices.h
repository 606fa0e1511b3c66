// The answer to "how are the NPUs cut": what stands on each, what could be cut next, and which rule forbids
// the rest. Same rules of reading and writing as schema.h. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "wire/types.h"

namespace tangram::wire {

// Whose a slice is that stands on an NPU.
enum class SliceStanding : std::uint8_t {
  kHeld,      // of a job
  kResidual,  // nobody's any more, and not returned yet
  kForeign,   // of somebody else than this daemon
};
std::string_view to_string(SliceStanding standing);  // "held", "residual", "foreign"

// One slice that stands on an NPU.
struct StandingSliceView {
  std::optional<std::uint32_t> id;  // vNPU id of the driver; absent: no look has shown it yet
  std::string template_name;        // empty: not told
  SliceStanding standing = SliceStanding::kForeign;
  std::optional<std::int64_t> ai_cores;
  std::optional<Bytes> memory;         // nominal
  std::optional<Bytes> usable_memory;  // what a program inside finds
  std::optional<Bytes> memory_used;
  std::optional<std::int32_t> vgroup;
  bool unseen = false;  // of one that is residual: the last look at the device does not show it
  std::string tenant;   // who holds it; empty: nobody, or not for this caller's eyes
  std::string job;      // id
  std::string job_name;

  friend bool operator==(const StandingSliceView&, const StandingSliceView&) = default;
};

// One template of an NPU, and whether one more slice of it can stand beside what is there.
struct SliceCutView {
  std::string template_name;
  std::int64_t ai_cores = 0;
  std::int64_t ai_cpus = 0;
  Bytes memory;                   // nominal
  Bytes usable_memory;            // what a program inside finds
  std::int64_t room = 0;          // so many more of this template alone
  std::vector<ReasonView> rules;  // that one more would break; empty where there is room

  friend bool operator==(const SliceCutView&, const SliceCutView&) = default;
};

// A mix that was asked about: these slices beside those that stand there.
struct SliceMixView {
  std::vector<std::string> templates;
  bool legal = false;
  std::vector<ReasonView> rules;  // that it breaks

  friend bool operator==(const SliceMixView&, const SliceMixView&) = default;
};

struct NpuSlicesView {
  std::uint32_t npu = 0;             // physical id
  std::optional<std::int32_t> card;  // as npu-smi counts: -i and -c
  std::optional<std::int32_t> chip_on_card;
  std::string chip;
  std::string model;  // of the catalogue; empty: it knows none, and the NPU is given whole only
  Health health = Health::kUnknown;
  NpuMode mode = NpuMode::kFree;
  std::optional<std::int64_t> ai_cores;
  std::optional<Bytes> memory;
  std::optional<Bytes>
      usable_memory;   // what a program finds that has all of it; absent: not known, or it is cut
  std::string tenant;  // of an NPU that is held whole, as above
  std::string job;
  std::string job_name;
  bool offered = false;  // whether the daemon cuts it for jobs
  std::string note;      // why not, or why nothing can be cut at present
  std::vector<StandingSliceView> slices;
  std::optional<std::int64_t> free_ai_cores;  // of no slice; absent: the mix is not one of the catalogue
  std::vector<SliceCutView> cuts;
  std::optional<SliceMixView> asked;

  friend bool operator==(const NpuSlicesView&, const NpuSlicesView&) = default;
};

struct SlicesView {
  std::string node;
  std::vector<NpuSlicesView> npus;  // ascending

  friend bool operator==(const SlicesView&, const SlicesView&) = default;
};

std::string write(const SlicesView& view);
Result<SlicesView> read_slices_view(std::string_view json);

}  // namespace tangram::wire

// What a job asks for: whole NPUs, a slice of one, or a share of one. On one node, of one chip model.
#pragma once

#include <cstdint>
#include <limits>

#include "base/units.h"

namespace tangram {

inline constexpr std::int64_t kNpusPerJobMax = 4096;
inline constexpr std::uint32_t kNoParts = std::numeric_limits<std::uint32_t>::max();

enum class RequestKind : std::uint8_t { kWhole, kSlice, kShare };

struct Request {
  RequestKind kind = RequestKind::kWhole;
  std::int32_t npus = 1;          // kWhole: how many
  Bytes memory_per_npu;           // need per NPU; kWhole: an NPU with at least this much fits
  std::int32_t ai_cores = 0;      // kSlice: 0: as many as come with the memory
  std::int32_t core_percent = 0;  // kShare
  // A handle inside of one core, never written down: the job has these parts (model/part.h), and of the above
  // only memory_per_npu counts, which is the largest of theirs.
  std::uint32_t parts = kNoParts;

  bool has_parts() const { return parts != kNoParts; }
  friend auto operator<=>(const Request&, const Request&) = default;
};

// What a request comes to on the hardware at hand: requests with the same need fit in the same places.
struct Need {
  RequestKind kind = RequestKind::kWhole;
  std::int32_t npus = 1;
  std::uint32_t first_kind = 0;  // kWhole: kinds of NPUs from here on will do
  Bytes memory;                  // kSlice: rounded up to a size that there is
  std::int32_t ai_cores = 0;     // kSlice: the same

  bool is_slice() const { return kind == RequestKind::kSlice; }
  friend bool operator==(const Need&, const Need&) = default;
};

}  // namespace tangram

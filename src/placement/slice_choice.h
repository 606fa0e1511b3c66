// What a request for a slice comes to on one chip model: a template size, the whole NPU, or nothing. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "catalog/catalog.h"

namespace tangram {

struct SliceAsk {
  Bytes memory;               // nominal; 0: the smallest there is
  std::int32_t ai_cores = 0;  // 0: as many as come with the memory

  friend auto operator<=>(const SliceAsk&, const SliceAsk&) = default;
};

// Offered templates of the same memory and cores: for a request they are one. The first is the fullest, which
// an uncut NPU gives; the others leave more of what is scarce.
struct SliceSize {
  Bytes memory;         // nominal
  Bytes usable_memory;  // what a program in it finds
  std::int32_t ai_cores = 0;
  std::vector<std::uint32_t> variants;  // templates of the chip
};

// Ascending by memory, then cores. Without `variants` each size has its first template alone.
std::vector<SliceSize> slice_sizes(const ChipModel& chip, bool variants);

struct SliceGrant {
  enum class Kind : std::uint8_t { kSlice, kWhole, kNever };
  enum class Why : std::uint8_t {
    kAsAsked,
    kRoundedUp,             // to the smallest template that holds it
    kAboveLargestTemplate,  // a whole NPU
    kAboveNpu,              // never: no single NPU of this kind is so large, and a slice is of one
    kNotCut,                // never: chips of this kind are not cut
  };

  Kind kind = Kind::kNever;
  Why why = Why::kNotCut;
  std::uint32_t size = 0;  // kSlice
  Bytes memory;            // nominal of the template; of a whole NPU what it has to give
  Bytes usable_memory;
  std::int32_t ai_cores = 0;

  // The template is enough by its nominal size only.
  bool usable_is_below(const SliceAsk& ask) const {
    return kind == Kind::kSlice && usable_memory < ask.memory;
  }
};

// `npu_memory` and `npu_cores`: of a whole NPU, as the device reports them.
SliceGrant grant_slice(const std::vector<SliceSize>& sizes, Bytes npu_memory, std::int32_t npu_cores,
                       const SliceAsk& ask);

}  // namespace tangram

#include "placement/slice_choice.h"

#include <algorithm>
#include <tuple>

namespace tangram {
namespace {

std::int32_t cores_of(const SliceTemplate& shape) {
  return static_cast<std::int32_t>(shape.ai_cores());
}

}  // namespace

std::vector<SliceSize> slice_sizes(const ChipModel& chip, bool variants) {
  std::vector<SliceSize> sizes;
  for (std::uint32_t i = 0; i < chip.templates.size(); ++i) {
    const SliceTemplate& shape = chip.templates[i];
    if (!shape.offered) continue;
    const auto same = std::find_if(sizes.begin(), sizes.end(), [&shape](const SliceSize& size) {
      return size.memory == shape.memory && size.ai_cores == cores_of(shape);
    });
    if (same == sizes.end()) {
      sizes.push_back({shape.memory, shape.usable_memory, cores_of(shape), {i}});
    } else if (variants) {
      same->variants.push_back(i);
      same->usable_memory = std::min(same->usable_memory, shape.usable_memory);
    }
  }
  std::sort(sizes.begin(), sizes.end(), [](const SliceSize& a, const SliceSize& b) {
    return std::tie(a.memory, a.ai_cores) < std::tie(b.memory, b.ai_cores);
  });
  return sizes;
}

SliceGrant grant_slice(const std::vector<SliceSize>& sizes, Bytes npu_memory, std::int32_t npu_cores,
                       const SliceAsk& ask) {
  SliceGrant grant;
  if (sizes.empty()) return grant;
  if (ask.memory > npu_memory || ask.ai_cores > npu_cores) {
    grant.why = SliceGrant::Why::kAboveNpu;
    return grant;
  }
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    const SliceSize& size = sizes[i];
    if (size.memory < ask.memory || size.ai_cores < ask.ai_cores) continue;
    const bool exact = size.memory == ask.memory && (ask.ai_cores == 0 || size.ai_cores == ask.ai_cores);
    grant.kind = SliceGrant::Kind::kSlice;
    grant.why = exact ? SliceGrant::Why::kAsAsked : SliceGrant::Why::kRoundedUp;
    grant.size = i;
    grant.memory = size.memory;
    grant.usable_memory = size.usable_memory;
    grant.ai_cores = size.ai_cores;
    return grant;
  }
  grant.kind = SliceGrant::Kind::kWhole;
  grant.why = SliceGrant::Why::kAboveLargestTemplate;
  grant.memory = grant.usable_memory = npu_memory;
  grant.ai_cores = npu_cores;
  return grant;
}

}  // namespace tangram

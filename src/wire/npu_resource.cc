#include "wire/npu_resource.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/invariant.h"

namespace tangram::wire {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

struct Known {
  std::string_view word;
  std::string_view chip;
  std::int64_t whole_mib = 0;
  bool in_pairs = false;
};

constexpr std::array<Known, 7> kKnown{{
    {"Ascend310P", "310P (24 GiB)", 21'527},
    {"Ascend910A", "910A, 30 cores (32 GiB)", 32'768},
    {"Ascend910B2", "910B2", 65'536},
    {"Ascend910B3", "910B3", 65'536},
    {"Ascend910B4", "910B4", 32'768},
    {"Ascend910B4-1", "910B4-1", 65'536},
    {"Ascend910C", "A3, 20 cores", 65'536, true},
}};

// HAMi divides the memory of a 910A by its 30 cores; the vendor calls the same templates 2, 4, 8 and 16 GiB.
struct OtherSize {
  std::string_view word;
  std::string_view name;
  std::int64_t memory_mib = 0;
};
constexpr std::array<OtherSize, 4> kOtherSizes{{{"Ascend910A", "vir02", 2184},
                                                {"Ascend910A", "vir04", 4369},
                                                {"Ascend910A", "vir08", 8738},
                                                {"Ascend910A", "vir16", 17'476}}};

std::int64_t size_under(std::string_view word, const SliceTemplate& shape) {
  for (const OtherSize& other : kOtherSizes) {
    if (other.word == word && other.name == shape.name) return other.memory_mib;
  }
  return shape.memory.count / kMib;
}

const ChipModel& builtin_chip(std::string_view name) {
  const std::vector<ChipModel>& chips = builtin_chips();
  const auto at =
      std::find_if(chips.begin(), chips.end(), [&](const ChipModel& chip) { return chip.name == name; });
  TG_ASSERT(at != chips.end(), "a word of HAMi's names a chip that is not built in");
  return *at;
}

}  // namespace

NpuResource npu_resource(std::string_view word, const ChipModel& chip, std::int64_t whole_mib) {
  NpuResource resource;
  resource.word = word;
  resource.chip = chip.name;
  resource.ai_cores = chip.has[index_of(ChipResource::kAiCores)];
  resource.not_cut = chip.not_cut;
  for (const SliceTemplate& shape : chip.templates) {
    if (!shape.offered || !chip.not_cut.empty()) continue;
    const std::int64_t memory_mib = size_under(word, shape);
    const bool has_size =
        std::any_of(resource.templates.begin(), resource.templates.end(),
                    [memory_mib](const NpuTemplate& known) { return known.memory_mib == memory_mib; });
    if (has_size) continue;
    resource.templates.push_back(
        {shape.name, memory_mib, shape.usable_memory.count / kMib, shape.ai_cores()});
  }
  std::sort(resource.templates.begin(), resource.templates.end(),
            [](const NpuTemplate& a, const NpuTemplate& b) { return a.memory_mib < b.memory_mib; });
  const Bytes shared(chip.has[index_of(ChipResource::kMemory)]);
  resource.whole_mib = whole_mib;
  if (whole_mib == 0 && !shared.is_unlimited()) resource.whole_mib = shared.count / kMib;
  // A whole NPU is never less than a slice of it.
  if (!resource.templates.empty()) {
    resource.whole_mib = std::max(resource.whole_mib, resource.templates.back().memory_mib);
  }
  return resource;
}

std::vector<NpuResource> builtin_npu_resources() {
  std::vector<NpuResource> resources;
  resources.reserve(kKnown.size());
  for (const Known& known : kKnown) {
    NpuResource resource = npu_resource(known.word, builtin_chip(known.chip), known.whole_mib);
    resource.in_pairs = known.in_pairs;
    resources.push_back(std::move(resource));
  }
  return resources;
}

}  // namespace tangram::wire

#include "placement/slice_index.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/invariant.h"

namespace tangram {
namespace {

constexpr std::size_t kBitsPerWord = 64;

}  // namespace

void SliceIndex::prepare(const CutOrder& order) {
  if (!npus_.empty()) return;
  npus_.resize(order.states());
  for (std::uint32_t size = 0; size < order.sizes().size(); ++size) {
    occupied_.emplace_back((order.cuts(size).size() + kBitsPerWord - 1) / kBitsPerWord);
  }
}

void SliceIndex::mark(const CutOrder& order, SliceState state, bool occupied) {
  for (std::uint32_t size = 0; size < occupied_.size(); ++size) {
    const std::uint32_t rank = order.rank(size, state);
    if (rank == CutOrder::kNoRank) continue;
    const std::uint64_t bit = std::uint64_t{1} << (rank % kBitsPerWord);
    std::uint64_t& word = occupied_[size][rank / kBitsPerWord];
    word = occupied ? word | bit : word & ~bit;
  }
}

void SliceIndex::put(const CutOrder& order, NpuIndex npu, SliceState state) {
  prepare(order);
  std::vector<NpuIndex>& list = npus_[state];
  const auto place = std::lower_bound(list.begin(), list.end(), npu, std::greater<>());
  TG_ASSERT(place == list.end() || *place != npu, "an NPU is in one state at a time");
  list.insert(place, npu);
  if (list.size() == 1) mark(order, state, true);
}

void SliceIndex::remove(const CutOrder& order, NpuIndex npu, SliceState state) {
  TG_ASSERT(state < npus_.size(), "the NPU was put here");
  std::vector<NpuIndex>& list = npus_[state];
  const auto place = std::lower_bound(list.begin(), list.end(), npu, std::greater<>());
  TG_ASSERT(place != list.end() && *place == npu, "the NPU is in this state");
  list.erase(place);
  if (list.empty()) mark(order, state, false);
}

std::optional<SliceIndex::Best> SliceIndex::best(const CutOrder& order, std::uint32_t size) const {
  if (size >= occupied_.size()) return std::nullopt;
  const std::vector<std::uint64_t>& words = occupied_[size];
  for (std::size_t word = 0; word < words.size(); ++word) {
    if (words[word] == 0) continue;
    const auto rank = static_cast<std::uint32_t>(word * kBitsPerWord) +
                      static_cast<std::uint32_t>(std::countr_zero(words[word]));
    const CutOrder::Cut& cut = order.cuts(size)[rank];
    return Best{npus_[cut.from].back(), cut, rank};
  }
  return std::nullopt;
}

}  // namespace tangram

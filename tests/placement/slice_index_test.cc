#include "placement/slice_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace tangram {
namespace {

const Catalog::Chip& chip_310p3() {
  return Catalog::builtin()->chip(Catalog::builtin()->find({"310P3", {}, 8, Bytes::mib(21'527)}));
}

// Without this, a look-up that skips or repeats an NPU would be noticed only on a cluster: a thousand random
// steps, each answer compared with a scan of all NPUs.
TEST(SliceIndex, TheBestNpuIsTheOneThatAScanWouldFind) {
  const Catalog::Chip& chip = chip_310p3();
  const CutOrder order(chip.model, chip.table, true);
  constexpr std::uint32_t kNpus = 200;
  std::mt19937 random(7);
  SliceIndex index;
  std::map<std::uint32_t, SliceState> states;  // NPUs that are in the index
  for (int step = 0; step < 20'000; ++step) {
    const auto npu = static_cast<std::uint32_t>(random() % kNpus);
    if (const auto known = states.find(npu); known != states.end()) {
      index.remove(order, NpuIndex(npu), known->second);
      states.erase(known);
    } else {
      states[npu] = step % 3 == 0 ? kUncut : static_cast<SliceState>(random() % chip.table.size());
      index.put(order, NpuIndex(npu), states[npu]);
    }
    const auto size = static_cast<std::uint32_t>(random() % 3);
    std::optional<std::pair<std::uint32_t, std::uint32_t>> scanned;  // rank, NPU
    for (const auto& [candidate, state] : states) {
      const std::uint32_t rank = order.rank(size, state);
      if (rank == CutOrder::kNoRank) continue;
      const std::pair found(rank, candidate);
      scanned = scanned ? std::min(*scanned, found) : found;
    }
    const std::optional<SliceIndex::Best> best = index.best(order, size);
    ASSERT_EQ(best.has_value(), scanned.has_value());
    if (!best) continue;
    EXPECT_EQ(best->rank, scanned->first);
    EXPECT_EQ(best->npu.value, scanned->second);
    EXPECT_EQ(best->cut.from, states[best->npu.value]);
  }
}

// Without this, an NPU that is cut would be given whole, or one that is whole be cut.
TEST(SliceIndex, WholeAndSlicedExcludeEachOther) {
  const Catalog::Chip& chip = chip_310p3();
  const CutOrder order(chip.model, chip.table, true);
  SliceIndex index;
  EXPECT_FALSE(index.best(order, 0)) << "nothing is there";
  index.put(order, NpuIndex(0), kUncut);
  const std::optional<SliceIndex::Best> first = index.best(order, 0);
  ASSERT_TRUE(first);
  index.remove(order, NpuIndex(0), kUncut);
  index.put(order, NpuIndex(0), first->cut.to);
  EXPECT_EQ(index.count(kUncut), 0U) << "a sliced NPU is none to give whole";
  index.remove(order, NpuIndex(0), first->cut.to);
  index.put(order, NpuIndex(0), kUncut);
  index.remove(order, NpuIndex(0), kUncut);  // given whole
  for (std::uint32_t size = 0; size < 3; ++size)
    EXPECT_FALSE(index.best(order, size)) << "a whole NPU is none to cut";
}

// Without this, the eighth slice of one core would be placed where the device has no AICPU left.
TEST(SliceIndex, SevenSlicesOfOneCoreFitOneNpu) {
  const Catalog::Chip& chip = chip_310p3();
  for (const bool variants : {true, false}) {
    const CutOrder order(chip.model, chip.table, variants);
    SliceIndex index;
    SliceState state = kUncut;
    index.put(order, NpuIndex(0), state);
    for (int i = 0; i < 7; ++i) {
      const std::optional<SliceIndex::Best> best = index.best(order, 0);
      ASSERT_TRUE(best) << i;
      index.remove(order, NpuIndex(0), state);
      state = best->cut.to;
      index.put(order, NpuIndex(0), state);
    }
    EXPECT_FALSE(index.best(order, 0));
  }
}

}  // namespace
}  // namespace tangram

// The NPUs of one chip model by their state, and for each size of slice a bit per state in the order of
// preference: the best NPU is the first bit that is set, whatever the number of NPUs. Not thread-safe; copied
// as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/ids.h"
#include "placement/cut_order.h"

namespace tangram {

class SliceIndex {
 public:
  struct Best {
    NpuIndex npu;  // the lowest of those in the best state
    CutOrder::Cut cut;
    std::uint32_t rank = 0;  // comparable between indexes of the same order
  };

  // `order` is the same in every call, and is not kept: it is shared by all copies.
  void put(const CutOrder& order, NpuIndex npu, SliceState state);
  void remove(const CutOrder& order, NpuIndex npu, SliceState state);
  std::optional<Best> best(const CutOrder& order, std::uint32_t size) const;

  std::size_t count(SliceState state) const { return state < npus_.size() ? npus_[state].size() : 0; }
  // Lowest last: what is given and taken most is moved least.
  const std::vector<NpuIndex>& npus(SliceState state) const { return npus_[state]; }

 private:
  void prepare(const CutOrder& order);
  void mark(const CutOrder& order, SliceState state, bool occupied);

  std::vector<std::vector<NpuIndex>> npus_;           // by state, descending
  std::vector<std::vector<std::uint64_t>> occupied_;  // by size: a bit per rank
};

}  // namespace tangram

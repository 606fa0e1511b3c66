// In which state an NPU should be cut for a slice of a given size, and with which template: computed once per
// chip model and policy, then only looked up.
//
// The best cut is the one after which the least is lost. *Dead* are free cores that no sequence of further
// cuts could use. *Stranded*, summed over the sizes (and the whole NPU, for one that is cut), are free cores
// that requests of this size alone could not use, whichever variants they were given. The order is by how
// much a cut adds to the first, then to the second, then by fewer free cores left, then, between variants, by
// the one that takes more AICPU: the leaner one is for when it lets more cores be used. An uncut NPU gives
// the fullest template of a size. Whole numbers only.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "catalog/catalog.h"
#include "placement/slice_choice.h"

namespace tangram {

class CutOrder {
 public:
  struct Cut {
    SliceState from = kNoState;
    SliceState to = kNoState;
    std::uint32_t shape = 0;  // template of the chip
  };
  static constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

  CutOrder(const ChipModel& chip, const SliceTable& table, bool variants);

  const std::vector<SliceSize>& sizes() const { return sizes_; }
  // Best first; one for each state that a slice of this size still fits in.
  const std::vector<Cut>& cuts(std::uint32_t size) const { return cuts_[size]; }
  // Where in cuts(size) the state stands; kNoRank: it is not there.
  std::uint32_t rank(std::uint32_t size, SliceState state) const { return ranks_[size][state]; }
  // Whether a chip in that state has the memory for one more slice of this size, whatever else may be
  // lacking.
  bool has_memory(std::uint32_t size, SliceState state) const { return has_memory_[size][state] != 0; }
  std::size_t states() const { return stranded_.size(); }
  // See above; in cores.
  std::int64_t dead(SliceState state) const { return dead_[state]; }
  std::int64_t stranded(SliceState state) const { return stranded_[state]; }

 private:
  void measure(const SliceTable& table);
  void rank_cuts(const ChipModel& chip, const SliceTable& table);
  void measure_memory(const ChipModel& chip, const SliceTable& table);

  std::vector<SliceSize> sizes_;
  std::vector<std::int64_t> dead_;
  std::vector<std::int64_t> stranded_;
  std::vector<std::vector<Cut>> cuts_;                 // by size
  std::vector<std::vector<std::uint32_t>> ranks_;      // by size and state
  std::vector<std::vector<std::uint8_t>> has_memory_;  // by size and state
};

}  // namespace tangram

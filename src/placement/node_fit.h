// Whether the parts of a job fit on one node, on which of its NPUs, and if not, what each NPU has against it.
// Looks at the NPUs of that node alone. Not thread-safe.
//
// Whole NPUs are found first, then slices, the largest first; each goes where decide() would put it if the
// node were alone in the world. Where that order leads into a corner others are tried, within a bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/part.h"
#include "model/reason.h"
#include "placement/fleet.h"
#include "placement/node_verdict.h"

namespace tangram {

// What a part comes to on the hardware at hand.
struct PartOffers {
  Part part;
  std::vector<std::uint8_t> kinds;  // kWhole: by kind, whether it will do
  std::vector<SliceOffer> offers;   // kSlice: the smallest first
};
PartOffers offers_of(const Fleet& fleet, const Part& part);

class NodeFitter {
 public:
  // Both must outlive it, and kinds stay what they are.
  NodeFitter(const Fleet& fleet, std::span<const PartOffers> parts);

  NodeFit judge(NodeIndex node, const NpuChoice& choice);
  // After judge() said that it fits: a place for each part, in their order.
  std::vector<PartPlace> places() const;

 private:
  struct LocalNpu {
    NpuIndex index;
    std::uint32_t kind = kNoKind;
    std::uint32_t chip = kNoChip;
    SliceState state = kNoState;
    bool healthy = false;
    bool excluded = false;
    bool held = false;  // whole
    bool idle = false;

    bool may_be_used() const { return healthy && !excluded && !held; }
  };
  struct Pick {
    std::vector<std::uint32_t> npus;  // in locals_
    std::uint32_t kind = kNoKind;
    std::uint32_t offer = 0;
    std::uint32_t shape = 0;  // template of a slice
    std::uint32_t rank = 0;
    bool is_slice = false;
  };

  struct Cutting {
    std::uint32_t offer = 0;
    std::uint32_t npu = 0;  // in locals_
    std::uint32_t rank = 0;
    std::uint32_t shape = 0;
    SliceState to = kNoState;
  };

  void look_at(NodeIndex node, const NpuChoice& choice);
  bool search(std::size_t depth);
  bool try_whole(std::size_t depth);
  bool try_whole_on(std::size_t depth, std::uint32_t kind, bool uncuttable_first);
  bool try_slice(std::size_t depth);
  bool try_uncut(std::size_t depth, std::uint32_t offer);
  bool try_cuts(std::size_t depth, std::uint32_t offer);
  bool try_cut(std::size_t depth, const Cutting& cutting);
  std::int32_t idle_of(std::uint32_t kind) const;
  void sum_up(NodeFit& fit) const;
  void count_refusals(NodeFit& fit) const;
  ReasonCode refusal(const PartOffers& part, const LocalNpu& npu) const;
  ReasonCode refusal_of_whole(const LocalNpu& npu) const;
  bool is_residual_alone(const LocalNpu& npu) const;
  bool fits_without_residual(const LocalNpu& npu, const SliceOffer& offer) const;

  const Fleet& fleet_;
  std::span<const PartOffers> parts_;
  std::vector<std::uint32_t> order_;  // in which places are looked for
  std::vector<LocalNpu> locals_;      // ascending by physical id
  std::vector<LocalNpu> stuck_;       // as they were when `deepest_` was reached first
  std::vector<Pick> picks_;           // by part
  std::size_t deepest_ = 0;
  std::int32_t idle_before_ = 0;
  std::int32_t steps_ = 0;
};

}  // namespace tangram

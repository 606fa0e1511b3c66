// How the NPUs at hand may be cut: the chips of the catalogue, each with its order of cuts under the policy
// in force. Copies share what does not change. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "model/npu.h"
#include "placement/cut_order.h"

namespace tangram {

// A slice on an NPU, whoever made it.
struct StandingSlice {
  std::string_view template_name;
  std::int32_t vgroup = kNoVgroup;
};

class CutRules {
 public:
  explicit CutRules(std::shared_ptr<const Catalog> catalog);

  const std::shared_ptr<const Catalog>& catalog() const { return catalog_; }
  bool variants() const { return variants_; }
  void set_variants(bool variants);

  // Which chip of the catalogue the NPU is, so that it can be cut; kNoChip: it is given whole only.
  std::uint32_t chip_of(const NpuReport& report) const;
  // Before order() is asked for a chip.
  void prepare(std::uint32_t chip);

  const ChipModel& model(std::uint32_t chip) const { return catalog_->chip(chip).model; }
  const CutOrder& order(std::uint32_t chip) const { return *orders_[chip]; }

  // kNoState: the mix is none that the catalogue knows, as with a template that is not its, or a slice whose
  // vGroup is not told. Such an NPU is left alone.
  SliceState state_of(std::uint32_t chip, const std::vector<StandingSlice>& slices) const;
  // Where the next slice of that template goes: a single core to its like, everything else to itself.
  // kNoVgroup where the chip has none.
  std::int32_t vgroup_for(std::uint32_t chip, const std::vector<StandingSlice>& slices,
                          std::uint32_t shape) const;
  // The next slice of that template, as a job is given it.
  SlicePlacement cut_of(std::uint32_t chip, const std::vector<StandingSlice>& slices,
                        std::uint32_t shape) const;

 private:
  std::shared_ptr<const Catalog> catalog_;
  std::vector<std::shared_ptr<const CutOrder>> orders_;  // by chip, as far as prepared
  bool variants_ = true;
};

}  // namespace tangram

// Ways to put slices and whole NPUs on a set of equal NPUs, side by side for the packing benchmark: the
// product's, and two others written here by their published rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"

namespace tangram::bench {

// What a request asks for: a slice of so many cores, or the whole NPU.
struct PackedClass {
  std::int64_t ai_cores = 0;
  Bytes memory;  // nominal of the slice, allocatable of a whole NPU
  bool whole = false;
};

struct Packed {
  std::uint32_t npu = 0;
  std::uint32_t what = 0;  // the policy's own
};

class Packer {
 public:
  virtual ~Packer() = default;
  virtual std::optional<Packed> place(const PackedClass& wanted) = 0;
  virtual void release(const Packed& packed) = 0;
};

// The product: Fleet, as the scheduler of the service asks it. `whole`: what an NPU has.
std::unique_ptr<Packer> make_product(const Catalog::Chip& chip, std::uint32_t npus, const PackedClass& whole,
                                     bool variants);

// The fullest NPU on which the first legal template of the size fits, by the product's table of states but
// not its order.
std::unique_ptr<Packer> make_best_fit(const Catalog::Chip& chip, std::uint32_t npus, bool variants);

// HAMi's rule: one template per memory size; fits when the slots and the memory suffice; its default takes
// the emptiest NPU ("spread"), its other setting the fullest ("binpack").
struct HamiBoard {
  Bytes memory;  // memoryAllocatable
};
std::unique_ptr<Packer> make_hami(const Catalog::Chip& chip, std::uint32_t npus, HamiBoard board,
                                  bool spread);

}  // namespace tangram::bench

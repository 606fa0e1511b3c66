// What is known of how parts fit on nodes, for each list of parts that was asked of late: a node is looked at
// again only after one of its NPUs has changed. So an answer for all nodes costs a look at those that
// changed, and a compare of two numbers for each other. Derived: no part of a snapshot. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/node_fit.h"

namespace tangram {

class PlaceIndex {
 public:
  // How many lists of parts are remembered; who was asked longest ago is forgotten.
  static constexpr std::size_t kShapesMax = 64;

  PlaceIndex() = default;
  // A copy knows nothing: it is made to ask something else, and what it would copy is large.
  PlaceIndex(const PlaceIndex& /*other*/) {}
  PlaceIndex& operator=(const PlaceIndex& other) {
    if (this != &other) shapes_.clear();
    return *this;
  }
  PlaceIndex(PlaceIndex&&) noexcept = default;
  PlaceIndex& operator=(PlaceIndex&&) noexcept = default;
  ~PlaceIndex() = default;

  class Shape {
   public:
    // Without a choice of NPUs.
    const NodeFit& fit(const Fleet& fleet, NodeIndex node);
    const std::vector<PartOffers>& offers() const { return offers_; }

   private:
    friend class PlaceIndex;
    struct Known {
      NodeFit fit;
      std::uint32_t version = 0;
      bool is_known = false;
    };

    std::uint64_t serial_ = 0;
    std::uint64_t used_at_ = 0;
    std::uint32_t epoch_ = 0;
    std::vector<PartOffers> offers_;
    std::vector<Known> nodes_;
  };

  // `serial` names the list of parts: the same number always comes with the same parts. Good until the next
  // call.
  Shape& shape(const Fleet& fleet, std::uint64_t serial, const std::vector<Part>& parts);

 private:
  std::vector<Shape> shapes_;
  std::uint64_t clock_ = 0;
};

}  // namespace tangram

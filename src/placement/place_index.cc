#include "placement/place_index.h"

#include <algorithm>

namespace tangram {

PlaceIndex::Shape& PlaceIndex::shape(const Fleet& fleet, std::uint64_t serial,
                                     const std::vector<Part>& parts) {
  auto place = std::find_if(shapes_.begin(), shapes_.end(),
                            [serial](const Shape& known) { return known.serial_ == serial; });
  const bool is_new = place == shapes_.end();
  if (is_new && shapes_.size() < kShapesMax) {
    shapes_.emplace_back();
    place = shapes_.end() - 1;
  } else if (is_new) {
    place = std::min_element(shapes_.begin(), shapes_.end(),
                             [](const Shape& a, const Shape& b) { return a.used_at_ < b.used_at_; });
  }
  Shape& shape = *place;
  if (is_new || shape.epoch_ != fleet.epoch()) {
    shape.serial_ = serial;
    shape.epoch_ = fleet.epoch();
    shape.offers_.clear();
    for (const Part& part : parts) shape.offers_.push_back(offers_of(fleet, part));
    shape.nodes_.clear();
  }
  shape.used_at_ = ++clock_;
  return shape;
}

const NodeFit& PlaceIndex::Shape::fit(const Fleet& fleet, NodeIndex node) {
  if (nodes_.size() < fleet.node_count()) nodes_.resize(fleet.node_count());
  Known& known = nodes_[node.value];
  const std::uint32_t version = fleet.version(node);
  if (!known.is_known || known.version != version) {
    known.fit = NodeFitter(fleet, offers_).judge(node, {});
    known.version = version;
    known.is_known = true;
  }
  return known.fit;
}

}  // namespace tangram

// Containers that run one after the other share what they are given: what a Pod has to have at once.
//
// An ordinary container and a sidecar have a part of their own for the life of the Pod. A container that runs
// before them (an init container) ends before the ordinary ones begin, and so uses what one of those is
// given; where none of theirs is large enough, the one that needs the least more is enlarged to hold both
// (the maximum), and where none is of its model it has a part of its own, which those that run before and
// after it use as well. Sidecars never share: they run beside all others. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/part.h"

namespace tangram {

struct ContainerAsk {
  Part part;
  bool init = false;     // runs before the ordinary ones, one at a time
  bool sidecar = false;  // an init container that goes on running
};

struct SharedParts {
  std::vector<Part> parts;              // what the job asks for
  std::vector<std::uint32_t> part_for;  // by container: which of them it uses
};
SharedParts share_parts(std::span<const ContainerAsk> containers);

}  // namespace tangram

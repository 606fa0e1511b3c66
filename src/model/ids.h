// Handles of the nouns. A handle is an index into a flat array of the core, stable for the life of the thing.
#pragma once

#include "base/ids.h"

namespace tangram {

using NodeIndex = Id<struct NodeTag, std::uint32_t>;
using NpuIndex = Id<struct NpuTag, std::uint32_t>;     // one chip, over all nodes
using TenantId = Id<struct TenantTag, std::uint32_t>;  // given in the order of creation, never used twice
using JobId = Id<struct JobTag, std::uint64_t>;        // the number of "j-<n>": the submit sequence

}  // namespace tangram

// Takes Tangram's gate away from every Pod, so that none is held for ever when Tangram is taken out of a
// cluster. They get no NPUs by that: nobody gives them any.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "kube/api/client.h"

namespace tangram::kube::process {

// How many were opened. Looks again until none is left. Errors: those of the calls; kAborted
// "kube.gates.stay" when some are still there after `passes`.
Result<std::size_t> open_gates(ApiClient& client, int passes = 5);

}  // namespace tangram::kube::process

// The part of the catalogue of reasons that the agent of a cluster's node gives.
#pragma once

#include <span>

#include "wire/texts.h"

namespace tangram::wire {

std::span<const ReasonText> node_reasons();

}  // namespace tangram::wire

// The parts of the catalogue of reasons. Private to wire.
#pragma once

#include <span>

#include "wire/texts.h"

namespace tangram::wire {

std::span<const ReasonText> admission_reasons();
std::span<const ReasonText> node_reasons();
std::span<const ReasonText> extender_reasons();
std::span<const ReasonText> manager_reasons();

}  // namespace tangram::wire

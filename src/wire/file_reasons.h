// The part of the reason catalogue that is about files; reason_catalogue() holds it, too.
#pragma once

#include <span>

#include "wire/texts.h"

namespace tangram::wire {

std::span<const ReasonText> file_reasons();

}  // namespace tangram::wire

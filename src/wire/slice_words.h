// Rules of slices as reasons: codes that `tangram explain` knows, sentences with numbers. Thread-safe: pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "catalog/slice_rules.h"
#include "wire/language.h"
#include "wire/types.h"

namespace tangram::wire {

// "memory", "AICPU".
std::string word(ChipResource resource, Language language);

// A rule that a mix of the chip breaks.
ReasonView make_rule(const ChipModel& chip, const SliceViolation& violation, Language language);

// A reason of any code with its sentence; the hint is the general one of the code.
ReasonView make_rule(std::string_view code, std::string sentence, Language language);

// The same of slices that are to stand beside those of `standing`: what they need, and what those leave.
ReasonView make_rule(const ChipModel& chip, const SliceViolation& violation, const SliceMix& standing,
                     Language language);

}  // namespace tangram::wire

// How a chip is written, in an operator's file and in a journal record. Private to wire.
#pragma once

#include <vector>

#include "catalog/chip.h"
#include "wire/table.h"

namespace tangram::wire {

Codec<ChipModel> chip_codec();

// Every object inside of a chip.
std::vector<DocumentInfo> chip_documents();

}  // namespace tangram::wire

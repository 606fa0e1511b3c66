// Chips that an operator describes, as YAML: a file, or (as one JSON text) inside of a journal record.
// docs/slices.md shows every field. Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/chip.h"

namespace tangram::wire {

// One document with apiVersion tangram.dev/v1, kind ChipCatalog and `chips`. Strict: an unknown field, a
// value out of range, a template that is more than its chip, a chip that stands twice or could be cut in too
// many ways is an error with line, column and path; `file` stands in front. Errors as in schema.h, and those
// of check_chip() and Catalog::with().
Result<std::vector<ChipModel>> read_chips(std::string_view yaml, std::string_view file);

// The same document, every field written: what an operator may begin with.
std::string write_chips(const std::vector<ChipModel>& chips);

}  // namespace tangram::wire

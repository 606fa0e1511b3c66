// What a device reports that it has, in the units of the catalogue. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "catalog/chip.h"
#include "ports/device_slices.h"

namespace tangram::service {

// Parts of a unit are rounded down: a chip has so many whole ones.
ReportedTotals reported_totals(const SliceResources& total);

std::string total_text(ChipResource resource, std::int64_t amount);  // "9"; of memory "28GiB"

// Where a chip's file says it: "aiCores", "memory", "media.vpc".
std::string chip_field(ChipResource resource);

}  // namespace tangram::service

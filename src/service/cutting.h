// Whether NPUs can be cut here and now, and why not. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/catalog.h"
#include "model/npu.h"
#include "service/views.h"

namespace tangram::service {

// What NPUs have in common.
struct CutConditions {
  const Catalog& catalog;
  bool private_devices = false;  // Executor::gives_private_devices
};

// The chip of the catalogue after which the NPU can be cut, by name. `before`: what was reported of it last;
// it stands in for what the driver does not tell at this moment; null: nothing was. Error: why it is not cut,
// one sentence.
Result<std::string> template_set_of(const DeviceNpu& npu, const DeviceReadings& readings,
                                    const NpuReport* before, const CutConditions& conditions);

// Why none of the NPUs can be cut, one sentence; empty: one can be, or nothing is known of any.
std::string why_none_is_cut(const DeviceReadings& readings, const CutConditions& conditions);

}  // namespace tangram::service

// What a request is given, or would be, in one sentence: template or NPU, nominal and usable memory, and why.
// Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/ids.h"
#include "model/request.h"
#include "model/slice.h"
#include "scheduler/scheduler.h"
#include "service/views.h"
#include "wire/language.h"

namespace tangram::service {

// What a program finds on an NPU that its job has whole; none: not known. Only asked where that is told.
using UsableMemory = std::function<std::optional<Bytes>(NpuIndex)>;

// By the last look. Refers to its arguments.
UsableMemory usable_by(const Scheduler& core, const DeviceReadings& readings);

struct Placement {
  std::vector<NpuIndex> npus;           // none: it has no place yet
  std::optional<SlicePlacement> slice;  // of that NPU; none: all of it
};

// Of one without a place: what the request comes to. Empty: nothing that there is.
std::string granted_text(const Scheduler& core, const Request& request, const Placement& placement,
                         const UsableMemory& usable, wire::Language language);

}  // namespace tangram::service

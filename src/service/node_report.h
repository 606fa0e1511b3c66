// From a look at the devices to what the core is told of this node. Pure.
#pragma once

#include <optional>
#include <string>

#include "model/record.h"
#include "service/views.h"

namespace tangram::service {

// None when nothing that the core cares about has changed. With the driver away, the known NPUs stay with
// health unknown. A size that the device does not tell now is the one that it told before; an NPU whose
// memory was never told is unknown, because nothing can be placed on it.
std::optional<NodeReported> make_node_report(const Scheduler& core, const std::string& node,
                                             const DeviceReadings& readings);

}  // namespace tangram::service

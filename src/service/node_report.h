// From a look at the devices, and from the book of slices, to what the core is told of this node. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/record.h"
#include "service/cutting.h"
#include "service/state.h"
#include "service/views.h"

namespace tangram::service {

// None when nothing that the core cares about has changed. With the driver away, the known NPUs stay with
// health unknown. A size that the device does not tell now is the one that it told before; an NPU whose
// memory was never told is unknown, because nothing can be placed on it. Slices that are no job's are told as
// strays: what ended attempts have left until it is returned, and what the look shows beyond that.
// `returned`: slices that may have been returned while the look went on; it says nothing of them. `resting`:
// by id, orders that an NPU has refused; nothing is offered on it.
std::optional<NodeReported> make_node_report(const State& state, const std::string& node,
                                             const DeviceReadings& readings, bool private_devices,
                                             const std::set<std::uint32_t>& returned,
                                             const std::map<std::uint32_t, std::uint32_t>& resting);

// After a record has changed what stands of the slice with that id: its NPU's node with the slice as a
// residual one if its attempt has ended, and without it otherwise. None: nothing changes by it, or the NPU is
// absent.
std::optional<NodeReported> report_slice(const State& state, NpuIndex npu, std::uint32_t id);

// The same node with that NPU as one that is not cut, after its driver has refused for good. None: it was
// not.
std::optional<NodeReported> report_not_cut(const State& state, NpuIndex npu);

// The same node with that NPU resting, after an order with that id was refused.
std::optional<NodeReported> report_resting(const State& state, NpuIndex npu, std::uint32_t id);

}  // namespace tangram::service

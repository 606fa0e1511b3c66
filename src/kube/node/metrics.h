// The agent's page for Prometheus: health of the NPUs, and what containers use of what they have. Pure.
//
// What the driver does not tell is absent, never 0: a 910B tells nothing of a slice.
#pragma once

#include <string>
#include <vector>

#include "kube/node/npu_facts.h"

namespace tangram::kube::node {

// In the text format of Prometheus (0.0.4). `readings`: of the last look; none while the driver is away. Our
// own names, and those that HAMi's device plugin has for the same (its utilization is in percent).
std::string metrics_text(const MachineFacts& facts, const std::vector<DeviceNpu>& readings,
                         const std::vector<Handed>& entries);

}  // namespace tangram::kube::node

// What operators want of this node: the NodeConfigs that select it, as rules for what the agent makes of its
// NPUs. Pure.
#pragma once

#include <vector>

#include "kube/node/npu_facts.h"
#include "wire/cluster.h"

namespace tangram::kube::node {

// Those that select a node with these labels, by name.
std::vector<wire::NodeConfig> selected_by(const std::vector<wire::NodeConfig>& configs,
                                          const wire::Labels& labels);

// `base` (the agent's own options) as these change it. Of several, each may exclude NPUs and forbid cutting;
// the number of shares is that of the first by name that has one. More than one is noted, as an operator may
// not know of it.
FactRules rules_for(FactRules base, const std::vector<wire::NodeConfig>& selected);

}  // namespace tangram::kube::node

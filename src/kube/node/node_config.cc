#include "kube/node/node_config.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/quote.h"

namespace tangram::kube::node {

std::vector<wire::NodeConfig> selected_by(const std::vector<wire::NodeConfig>& configs,
                                          const wire::Labels& labels) {
  std::vector<wire::NodeConfig> selected;
  for (const wire::NodeConfig& config : configs) {
    if (wire::matches(config.nodes, labels)) selected.push_back(config);
  }
  std::ranges::sort(selected, {}, &wire::NodeConfig::name);
  return selected;
}

FactRules rules_for(FactRules base, const std::vector<wire::NodeConfig>& selected) {
  std::string names;
  bool has_shares = false;
  for (const wire::NodeConfig& config : selected) {
    names += (names.empty() ? "" : ", ") + config.name;
    base.excluded.insert(config.excluded_npus.begin(), config.excluded_npus.end());
    if (!config.cut && base.not_cut.empty()) {
      base.not_cut = "NodeConfig " + quoted(config.name) + " has NPUs of this node given whole only";
    }
    if (config.shares_per_npu > 0 && !std::exchange(has_shares, true)) {
      base.shares = static_cast<std::uint32_t>(config.shares_per_npu);
    }
  }
  if (selected.size() > 1) {
    base.notes.push_back("more than one NodeConfig selects this node: " + names);
  }
  return base;
}

}  // namespace tangram::kube::node

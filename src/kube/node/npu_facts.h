// What the agent makes of the device's word on each NPU: what it offers to the kubelet, and what it tells the
// cluster. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/node/hand_out.h"
#include "ports/devices.h"

namespace tangram {
class Catalog;
}

namespace tangram::kube::node {

struct TemplateFact {
  std::string name;
  Bytes memory;  // nominal
  std::int64_t ai_cores = 0;
  std::int64_t ai_cpus = 0;
};

struct StrayFact {
  std::uint32_t id = 0;
  std::string template_name;  // empty: not told
  std::optional<std::uint32_t> vgroup{};
};

struct NpuFacts {
  std::string uuid;  // or "npu-<index>" where the driver does not tell it
  std::uint32_t index = 0;
  std::string chip;
  std::string resource;  // as which it is offered; empty: a chip that is not known, and not offered
  std::optional<std::uint32_t> board;
  std::string pcie_address;  // empty: not known
  bool healthy = false;
  std::string note;   // why it is not healthy; else empty
  Bytes allocatable;  // 0: not known yet
  std::int64_t ai_cores = 0;
  std::string not_cut;                  // why no slices are cut on it; else empty
  std::string template_set;             // chip of the catalogue by which it is cut; empty: it is not
  std::vector<TemplateFact> templates;  // those that are given to requests; none if it is not cut
  std::vector<StrayFact> strays;        // slices that nobody here has
  std::uint32_t shares = 1;
  bool excluded = false;  // the operator wants it left alone: not offered and not told of
};

struct MachineFacts {
  std::string driver_version;
  std::vector<std::string> conditions;  // what an operator has to know: a driver that is too old
  std::vector<NpuFacts> npus;           // ascending by index
};

// By which word a chip of the catalogue is asked for.
struct ChipWord {
  std::string chip;  // "310P (24 GiB)"
  std::string word;  // "Ascend310P"

  friend bool operator==(const ChipWord&, const ChipWord&) = default;
};

struct FactRules {
  std::shared_ptr<const Catalog> catalog;
  std::vector<ChipWord> words;
  std::optional<std::uint32_t> shares;  // the operator's own number
  std::string resource{};               // of all NPUs, "huawei.com/Ascend310P"; empty: after their chips
  std::string not_cut{};                // why NPUs are only given whole here; else empty
  std::set<std::uint32_t> excluded{};   // physical ids of NPUs that are left alone
  std::vector<std::string> notes{};     // conditions that an operator has to know

  friend bool operator==(const FactRules&, const FactRules&) = default;
};
FactRules builtin_rules();  // the chips that are known without an operator's word
// Facts change less often than looks are made: an NPU that is away keeps what was known of it.
MachineFacts facts_of(const DeviceScan& scan, const FactRules& rules, const HandOut& book,
                      const MachineFacts& before);

// A driver that does not answer: all that was known, and nothing healthy.
MachineFacts without_driver(MachineFacts facts, const std::string& why);

NpuGround ground_of(const MachineFacts& facts, const DeviceScan& scan);

// The NUMA node that sysfs has for a PCI address; none: it has none, or says -1.
std::optional<std::int64_t> numa_node_of(const std::string& sysfs, const std::string& pcie_address);

}  // namespace tangram::kube::node

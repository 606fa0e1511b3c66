// The NPUs of a node: its annotation tangram.dev/npus, written by the node's agent and read by the manager.
//
//   {"driver":"25.5.0","conditions":["…"],"npus":[{"uuid":"…","index":0,"chip":"310P3",
//    "resource":"huawei.com/Ascend310P","board":2,"health":"ok","allocatableMiB":21527,"aiCores":8,"shares":7,
//    "templateSet":"310P (24 GiB)","templates":["vir01",…],"strays":[{"id":103,"template":"vir02"}]}]}
//
// What is not known is left out; `note` says why an NPU is not healthy, `notCut` why it has no templates.
// Reading is total, as in container_request.h. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tangram::kube {

inline constexpr std::size_t kNpusPerNodeMax = 1024;
inline constexpr std::size_t kNodeAnnotationBytesMax = 256U << 10;  // what the API server allows of all

struct NodeStray {
  std::uint32_t id = 0;       // vNPU id of the driver
  std::string template_name;  // empty: not told
  std::optional<std::int32_t> vgroup{};

  friend bool operator==(const NodeStray&, const NodeStray&) = default;
};

struct NodeNpu {
  std::string uuid;
  std::uint32_t index = 0;  // physical id
  std::string chip;         // as the driver names it: "310P3"
  std::optional<std::uint32_t> board{};
  bool healthy = false;
  std::string note;                    // why it is not healthy
  std::int64_t allocatable_mib = 0;    // 0: not known
  std::int64_t ai_cores = 0;           // 0: not known
  std::string not_cut;                 // why no slices are cut on it
  std::vector<std::string> templates;  // that can be cut; none: it is only given whole
  std::vector<NodeStray> strays;       // slices that no Pod has, ascending by id
  std::string resource{};              // as which it is offered; empty: it is not
  std::int64_t shares = 1;             // how many containers can have a part of it
  std::string template_set{};          // chip of the catalogue by which it is cut; empty: it is not

  friend bool operator==(const NodeNpu&, const NodeNpu&) = default;
};

struct NodeNpus {
  std::string driver;  // its version; empty: not known
  std::vector<std::string> conditions;
  std::vector<NodeNpu> npus;  // ascending by index, each index and uuid once

  friend bool operator==(const NodeNpus&, const NodeNpus&) = default;
};

// What a driver says may be any bytes: text that is no UTF-8, or too long, is mended and cut.
std::string write_node_npus(const NodeNpus& node);
// kInvalidArgument "kube.annotation.invalid", naming the entry and the field.
Result<NodeNpus> read_node_npus(std::string_view text);

}  // namespace tangram::kube

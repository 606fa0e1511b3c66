#include "kube/node/other_drivers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "kube/protocol/names.h"
#include "kube/protocol/node_npus.h"

namespace tangram::kube::node {
namespace {

// Resources of the same chips that others serve: "huawei.com/Ascend310P" (HAMi, MindCluster), its variants
// "…-2c", and MindCluster's own words for shares of cores and for A5. What ends so is never served, only
// asked.
constexpr std::array<std::string_view, 2> kNeverServed = {"-memory", "-core"};

bool is_of_ascend(std::string_view resource) {
  if (!resource.starts_with(names::kResourcePrefix)) return false;
  const std::string_view name = resource.substr(names::kResourcePrefix.size());
  if (std::ranges::any_of(kNeverServed, [name](std::string_view end) { return name.ends_with(end); })) {
    return name == "npu-core";
  }
  return name.starts_with("Ascend") || name == "npu";
}

// The vendor's and HAMi's plugins name their sockets after the resource: Ascend310P.sock.
bool is_socket_of_ascend(std::string_view socket) {
  std::string lower(socket);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.find("ascend") != std::string::npos || lower.find("npu") != std::string::npos;
}

// The resources under which an agent of ours has offered this node's NPUs.
std::set<std::string> own_resources(std::string_view resource, const json::object& node) {
  const std::string_view annotation = text_at(node, {"metadata", "annotations", names::kNodeNpus});
  if (annotation.empty()) return {};
  std::set<std::string> own{std::string(resource)};
  const Result<NodeNpus> inventory = read_node_npus(annotation);
  if (!inventory) return own;
  for (const NodeNpu& npu : inventory->npus) own.insert(npu.resource);
  return own;
}

bool is_positive(const json::value& quantity) {
  const json::string* text = quantity.if_string();
  return text != nullptr && *text != "0";
}

}  // namespace

std::vector<std::string> other_drivers(const std::vector<std::string>& sockets, std::string_view resource,
                                       const json::object& node) {
  std::vector<std::string> found;
  for (const std::string& socket : sockets) {
    if (is_socket_of_ascend(socket)) found.push_back("another device plugin answers at " + socket);
  }
  const std::set<std::string> ours = own_resources(resource, node);
  if (const json::object* allocatable = object_at(node, {"status", "allocatable"})) {
    for (const json::key_value_pair& one : *allocatable) {
      const std::string_view name = one.key();
      if (!is_of_ascend(name) || !is_positive(one.value())) continue;
      if (ours.contains(std::string(name))) continue;
      found.push_back("the node offers " + std::string(name) + " already");
    }
  }
  return found;
}

}  // namespace tangram::kube::node

#include "kube/node/pod.h"

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "kube/protocol/allocation.h"
#include "kube/protocol/names.h"

namespace tangram::kube::node {
namespace {

using Progress = PodContainer::Progress;

const json::object* status_of(const json::object& pod, std::string_view list, std::string_view container) {
  const json::array* statuses = array_at(pod, {"status", list});
  if (statuses == nullptr) return nullptr;
  for (const json::value& status : *statuses) {
    const json::object* one = status.if_object();
    if (one != nullptr && text_at(*one, {"name"}) == container) return one;
  }
  return nullptr;
}

Progress progress_of(const json::object& pod, std::string_view container) {
  const json::object* status = status_of(pod, "initContainerStatuses", container);
  if (status == nullptr) return Progress::kUnknown;
  if (const json::object* ended = object_at(*status, {"state", "terminated"})) {
    return number_at(*ended, {"exitCode"}) == 0 ? Progress::kDone : Progress::kFailed;
  }
  if (object_at(*status, {"state", "running"}) != nullptr) return Progress::kRunning;
  // It waits: for its first start, or after an end that was not a good one.
  const bool ran = object_at(*status, {"lastState", "terminated"}) != nullptr;
  return ran ? Progress::kFailed : Progress::kNotStarted;
}

void read_containers(const json::object& pod, std::string_view list, bool init, NodePod& out) {
  const json::array* containers = array_at(pod, {"spec", list});
  if (containers == nullptr) return;
  for (const json::value& value : *containers) {
    const json::object* container = value.if_object();
    if (container == nullptr) continue;
    PodContainer one;
    one.name = text_at(*container, {"name"});
    one.init = init && text_at(*container, {"restartPolicy"}) != "Always";
    if (one.init) one.progress = progress_of(pod, one.name);
    out.containers.push_back(std::move(one));
  }
}

// Empty, or what is wrong.
std::string give(ContainerAllocation given, NodePod& pod) {
  const auto container = std::ranges::find(pod.containers, given.container, &PodContainer::name);
  if (container == pod.containers.end()) return "it has no container " + quoted(given.container);
  if (container->grant) return "it names the container " + quoted(given.container) + " twice";
  Grant grant;
  grant.slice = given.kind == GrantKind::kSlice;
  grant.template_name = std::move(given.template_name);
  grant.vgroup = given.vgroup.value_or(kNoVgroup);
  for (AllocatedNpu& npu : given.npus) {
    if (std::ranges::find(grant.npus, npu.uuid, &NpuRef::uuid) != grant.npus.end()) {
      return "the container " + quoted(given.container) + " has an NPU twice";
    }
    grant.npus.push_back({std::move(npu.uuid), static_cast<std::uint32_t>(npu.index)});
  }
  container->grant = std::move(grant);
  return {};
}

std::string take_allocation(std::string_view text, std::string_view node, NodePod& pod) {
  Result<Allocation> allocation = read_allocation(text);
  if (!allocation) return allocation.error().message;
  if (allocation->node != node) return "it is of node " + quoted(allocation->node);
  for (ContainerAllocation& container : allocation->containers) {
    std::string problem = give(std::move(container), pod);
    if (!problem.empty()) return problem;
  }
  return {};
}

}  // namespace

std::optional<NodePod> read_pod(const json::object& pod, std::string_view node) {
  if (text_at(pod, {"spec", "nodeName"}) != node) return std::nullopt;
  const ObjectMeta meta = meta_of(pod);
  NodePod out;
  out.space = meta.space;
  out.name = meta.name;
  out.uid = meta.uid;
  const std::string_view phase = text_at(pod, {"status", "phase"});
  out.ended = phase == "Succeeded" || phase == "Failed";
  read_containers(pod, "initContainers", true, out);
  read_containers(pod, "containers", false, out);
  out.bind_phase = text_at(pod, {"metadata", "annotations", names::kHamiBindPhase});
  const std::string_view allocation = text_at(pod, {"metadata", "annotations", names::kAllocation});
  if (allocation.empty()) return out;
  if (const std::string problem = take_allocation(allocation, node, out); !problem.empty()) {
    // Half an allocation is none.
    for (PodContainer& container : out.containers) container.grant.reset();
    out.problem = "its " + std::string(names::kAllocation) + " cannot be used: " + problem;
  }
  return out;
}

const PodContainer* find_container(const NodePod& pod, std::string_view name) {
  const auto at = std::ranges::find(pod.containers, name, &PodContainer::name);
  return at == pod.containers.end() ? nullptr : &*at;
}

std::string name_of(const NodePod& pod) {
  return "Pod " + pod.space + "/" + pod.name;
}

}  // namespace tangram::kube::node

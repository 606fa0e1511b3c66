#include "kube/node/pod.h"

#include <algorithm>

#include "base/quote.h"
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
std::string read_grant(const json::object& entry, NodePod& pod) {
  const std::string_view name = text_at(entry, {"container"});
  const auto container = std::ranges::find(pod.containers, name, &PodContainer::name);
  if (container == pod.containers.end()) return "it has no container " + quoted(name);
  if (container->grant) return "it names the container " + quoted(name) + " twice";
  Grant grant;
  const std::string_view kind = text_at(entry, {"kind"});
  if (kind != "slice" && kind != "whole") return "kind " + quoted(kind) + " is neither slice nor whole";
  grant.slice = kind == "slice";
  if (grant.slice) grant.template_name = text_at(entry, {"template"});
  if (grant.slice && grant.template_name.empty()) return "a slice without a template";
  const json::array* npus = array_at(entry, {"npus"});
  if (npus == nullptr || npus->empty()) return "the container " + quoted(name) + " without NPUs";
  for (const json::value& value : *npus) {
    const json::object* npu = value.if_object();
    if (npu == nullptr || text_at(*npu, {"uuid"}).empty()) return "an NPU without a uuid";
    const auto index = number_at(*npu, {"index"}).value_or(0);
    grant.npus.push_back({std::string(text_at(*npu, {"uuid"})), static_cast<std::uint32_t>(index)});
  }
  if (grant.slice && grant.npus.size() != 1) return "a slice of more than one NPU";
  container->grant = std::move(grant);
  return {};
}

std::string read_allocation(std::string_view text, std::string_view node, NodePod& pod) {
  const Result<json::object> allocation = parse_object(text);
  if (!allocation) return "it is no JSON object";
  if (text_at(*allocation, {"node"}) != node) {
    return "it is of node " + quoted(text_at(*allocation, {"node"}));
  }
  const json::array* containers = array_at(*allocation, {"containers"});
  if (containers == nullptr) return "it names no containers";
  for (const json::value& value : *containers) {
    const json::object* entry = value.if_object();
    std::string problem = entry == nullptr ? "an entry is no object" : read_grant(*entry, pod);
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
  const std::string_view allocation = text_at(pod, {"metadata", "annotations", names::kAllocation});
  if (allocation.empty()) return out;
  if (const std::string problem = read_allocation(allocation, node, out); !problem.empty()) {
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

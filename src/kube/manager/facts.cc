#include "kube/manager/facts.h"

#include <algorithm>
#include <utility>

#include "kube/protocol/names.h"
#include "wire/schema.h"

namespace tangram::kube::manager {
namespace {

std::string_view annotation(const json::object& object, std::string_view name) {
  return text_at(object, {"metadata", "annotations", name});
}

ContainerNeed need_of(const ContainerGrant& grant) {
  ContainerNeed need;
  need.container = grant.request.container;
  need.word = grant.request.resource;
  if (need.word.starts_with(names::kResourcePrefix)) need.word.erase(0, names::kResourcePrefix.size());
  need.init = grant.request.init;
  need.sidecar = grant.request.sidecar;
  need.slice = grant.kind == GrantKind::kSlice;
  need.template_name = grant.template_name;
  need.count = grant.request.count;
  need.granted_mib = grant.request.memory_mib.value_or(0);
  return need;
}

void read_needs(const json::object& pod, PodFacts& facts) {
  facts.granted = annotation(pod, names::kGranted);
  const auto grants = read_grants(facts.granted);
  if (!grants) {
    facts.problem = grants.error().message;
    return;
  }
  if (grants->empty()) facts.problem = "its " + std::string(names::kGranted) + " names no container";
  const auto requests = read_requests(annotation(pod, names::kRequested));
  for (const ContainerGrant& grant : *grants) {
    ContainerNeed need = need_of(grant);
    if (requests) {
      const auto asked =
          std::find_if(requests->begin(), requests->end(),
                       [&](const ContainerRequest& request) { return request.container == need.container; });
      if (asked != requests->end()) need.asked_mib = asked->memory_mib.value_or(0);
    }
    facts.needs.push_back(std::move(need));
  }
}

void read_wishes(const json::object& pod, PodFacts& facts) {
  const std::string_view priority = annotation(pod, names::kPriority);
  if (!priority.empty()) {
    facts.priority = wire::parse_priority(priority, "priority").value_or(Priority::kNormal);
  }
  const std::string_view bandwidth = annotation(pod, names::kBandwidth);
  if (!bandwidth.empty()) {
    facts.bandwidth_bps = parse_bits_per_second(bandwidth, "bandwidth").value_or(0);
  }
  constexpr std::int64_t kSecondsMax = 10LL * 366 * 24 * 3600;
  const auto seconds = number_at(pod, {"spec", "activeDeadlineSeconds"});
  if (seconds && *seconds > 0 && *seconds <= kSecondsMax) facts.time_limit_ms = *seconds * 1000;
}

void read_gate(const json::object& pod, PodFacts& facts) {
  const json::array* const gates = array_at(pod, {"spec", "schedulingGates"});
  if (gates == nullptr) return;
  for (std::uint32_t i = 0; i < gates->size(); ++i) {
    const json::object* const gate = (*gates)[i].if_object();
    if (gate != nullptr && text_at(*gate, {"name"}) == names::kGate) facts.gate = i;
  }
}

// Of an array of conditions the one of that type.
const json::object* condition_of(const json::object& object, std::string_view type) {
  const json::array* const conditions = array_at(object, {"status", "conditions"});
  if (conditions == nullptr) return nullptr;
  for (const json::value& value : *conditions) {
    const json::object* const condition = value.if_object();
    if (condition != nullptr && text_at(*condition, {"type"}) == type) return condition;
  }
  return nullptr;
}

void read_told(const json::object& pod, PodFacts& facts) {
  const json::object* const condition = condition_of(pod, names::kQuotaCondition);
  if (condition == nullptr) return;
  facts.told = text_at(*condition, {"reason"});
  facts.told += '\n';
  facts.told += text_at(*condition, {"message"});
}

bool is_there(const json::object& object, JsonPath path) {
  const json::value* const value = find(object, path);
  return value != nullptr && !value->is_null();
}

}  // namespace

std::string key_of(const extender::PodRef& pod) {
  return pod.space + "/" + pod.name;
}

std::int64_t milliseconds_of(std::string_view time) {
  return wire::parse_time(time, "time").value_or(TimeMs()).value;
}

std::optional<PodFacts> read_pod_facts(const json::object& pod) {
  if (text_at(pod, {"metadata", "labels", names::kManagedLabel}) != "true") return std::nullopt;
  const ObjectMeta meta = meta_of(pod);
  PodFacts facts;
  facts.ref = {std::string(meta.space), std::string(meta.name), std::string(meta.uid)};
  facts.created_ms = milliseconds_of(text_at(pod, {"metadata", "creationTimestamp"}));
  facts.tenant = text_at(pod, {"metadata", "labels", names::kTenantLabel});
  read_needs(pod, facts);
  read_wishes(pod, facts);
  read_gate(pod, facts);
  facts.admitted = !annotation(pod, names::kAdmitted).empty();
  facts.allocation = annotation(pod, names::kAllocation);
  facts.node = text_at(pod, {"spec", "nodeName"});
  const std::string_view phase = text_at(pod, {"status", "phase"});
  facts.ended = phase == "Succeeded" || phase == "Failed";
  facts.going = is_there(pod, {"metadata", "deletionTimestamp"});
  read_told(pod, facts);
  return facts;
}

std::optional<NodeFacts> read_node_facts(const json::object& node) {
  const std::string_view text = annotation(node, names::kNodeNpus);
  if (text.empty()) return std::nullopt;
  NodeFacts facts;
  facts.name = meta_of(node).name;
  auto inventory = read_node_npus(text);
  if (!inventory) {
    facts.unusable = inventory.error().message;
    return facts;
  }
  facts.inventory = std::move(*inventory);
  const json::object* const ready = condition_of(node, "Ready");
  if (is_there(node, {"metadata", "deletionTimestamp"})) {
    facts.unusable = "it is being deleted";
  } else if (flag_at(node, {"spec", "unschedulable"})) {
    facts.unusable = "it is cordoned";
  } else if (ready == nullptr || text_at(*ready, {"status"}) != "True") {
    facts.unusable = "it is not ready";
  }
  return facts;
}

}  // namespace tangram::kube::manager

#include "kube/metrics/cluster_rows.h"

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "kube/protocol/allocation.h"
#include "kube/protocol/container_request.h"
#include "kube/protocol/names.h"

namespace tangram::kube::metrics {
namespace {

constexpr std::string_view kRegister = "hami.io/node-register-";
constexpr std::size_t kNpusMax = 1'024;  // of one node

// HAMi's word for each NPU of the node, by UUID.
std::map<std::string, std::string, std::less<>> words_of(const json::object& node) {
  std::map<std::string, std::string, std::less<>> words;
  const json::object* const annotations = object_at(node, {"metadata", "annotations"});
  if (annotations == nullptr) return words;
  for (const json::key_value_pair& member : *annotations) {
    const std::string_view key(member.key().data(), member.key().size());
    const json::string* const text = member.value().if_string();
    if (!key.starts_with(kRegister) || text == nullptr) continue;
    const auto list = parse_array(std::string_view(text->data(), text->size()));
    if (!list) continue;
    for (const json::value& value : *list) {
      const json::object* const entry = value.if_object();
      if (entry == nullptr) continue;
      words.emplace(text_at(*entry, {"id"}), key.substr(kRegister.size()));
    }
  }
  return words;
}

NpuRow npu_row(const json::object& entry) {
  NpuRow row;
  row.uuid = text_at(entry, {"uuid"});
  row.index = number_at(entry, {"index"}).value_or(0);
  row.chip = text_at(entry, {"chip"});
  row.healthy = text_at(entry, {"health"}) == "ok";
  row.memory_mib = number_at(entry, {"allocatableMiB"});
  row.ai_cores = number_at(entry, {"aiCores"});
  row.shares = number_at(entry, {"shares"}).value_or(0);
  const json::array* const strays = array_at(entry, {"strays"});
  row.strays = strays != nullptr ? static_cast<std::int64_t>(strays->size()) : 0;
  return row;
}

// ---- Pods

const ContainerGrant* grant_of(const std::vector<ContainerGrant>& grants, std::string_view container) {
  const auto at = std::find_if(grants.begin(), grants.end(),
                               [&](const ContainerGrant& one) { return one.request.container == container; });
  return at == grants.end() ? nullptr : &*at;
}

std::vector<std::string> container_names(const json::object& pod) {
  std::vector<std::string> found;
  for (const std::string_view kind : {"initContainers", "containers"}) {
    const json::array* const list = array_at(pod, {"spec", kind});
    if (list == nullptr) continue;
    for (const json::value& value : *list) {
      const json::object* const container = value.if_object();
      found.emplace_back(container != nullptr ? text_at(*container, {"name"}) : std::string_view());
    }
  }
  return found;
}

// Of one NPU: what runs side by side, or the largest of those that run before.
struct Sharers {
  std::vector<Holding> together;
  std::optional<Holding> before;

  std::vector<Holding> most() && {
    std::int64_t sum = 0;
    for (const Holding& one : together) sum += one.memory_mib;
    if (!before || (!together.empty() && sum >= before->memory_mib)) return std::move(together);
    return {std::move(*before)};
  }
};

std::vector<Holding> holdings_of(const json::object& pod, const Allocation& allocation,
                                 const std::vector<ContainerGrant>& grants) {
  const std::vector<std::string> order = container_names(pod);
  std::map<std::string, Sharers> by_npu;
  for (const ContainerAllocation& share : allocation.containers) {
    const ContainerGrant* const grant = grant_of(grants, share.container);
    const auto place = std::find(order.begin(), order.end(), share.container);
    if (grant == nullptr || place == order.end()) continue;
    for (const AllocatedNpu& npu : share.npus) {
      Holding holding{share.container,
                      place - order.begin(),
                      npu.uuid,
                      npu.index,
                      grant->request.memory_mib.value_or(0),
                      share.template_name};
      Sharers& sharers = by_npu[npu.uuid];
      const bool ends_before = grant->request.init && !grant->request.sidecar;
      if (!ends_before) {
        sharers.together.push_back(std::move(holding));
      } else if (!sharers.before || sharers.before->memory_mib < holding.memory_mib) {
        sharers.before = std::move(holding);
      }
    }
  }
  std::vector<Holding> holdings;
  for (auto& [uuid, sharers] : by_npu) {
    for (Holding& holding : std::move(sharers).most()) holdings.push_back(std::move(holding));
  }
  return holdings;
}

std::map<std::string, std::int64_t> memory_of(const std::vector<ContainerGrant>& grants) {
  std::map<std::string, std::int64_t> together;
  std::map<std::string, std::int64_t> before;
  for (const ContainerGrant& grant : grants) {
    const ContainerRequest& request = grant.request;
    const std::string key = request.resource + "-memory";
    const std::int64_t amount = request.memory_mib.value_or(0) * request.count;
    if (request.init && !request.sidecar) {
      before[key] = std::max(before[key], amount);
    } else {
      together[key] += amount;
    }
  }
  for (const auto& [key, amount] : before) together[key] = std::max(together[key], amount);
  return together;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::tm parts{};
  const std::string whole(text);
  const char* const end = strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&parts);
}

bool has_gate(const json::object& pod) {
  const json::array* const gates = array_at(pod, {"spec", "schedulingGates"});
  if (gates == nullptr) return false;
  return std::any_of(gates->begin(), gates->end(), [](const json::value& gate) {
    return gate.is_object() && text_at(gate.get_object(), {"name"}) == names::kGate;
  });
}

// ---- Tenants

TenantAmounts amounts_of(const json::object& tenant, std::string_view kind) {
  TenantAmounts amounts;
  amounts.npus = number_at(tenant, {"status", kind, "npus"});
  amounts.ai_cores = number_at(tenant, {"status", kind, "aiCores"});
  amounts.running_jobs = number_at(tenant, {"status", kind, "runningJobs"});
  const Result<Bytes> memory = parse_bytes(text_at(tenant, {"status", kind, "memoryTotal"}), "memoryTotal");
  if (memory) amounts.memory_bytes = memory->count;
  return amounts;
}

}  // namespace

std::optional<NodeRow> node_row(const json::object& node) {
  const std::string_view text = text_at(node, {"metadata", "annotations", names::kNodeNpus});
  if (text.empty()) return std::nullopt;
  const auto inventory = parse_object(text);
  const json::array* const npus = inventory ? array_at(*inventory, {"npus"}) : nullptr;
  if (npus == nullptr) return std::nullopt;
  const auto words = words_of(node);
  NodeRow row;
  for (const json::value& value : *npus) {
    const json::object* const entry = value.if_object();
    if (entry == nullptr || row.npus.size() >= kNpusMax) continue;
    NpuRow npu = npu_row(*entry);
    if (const auto word = words.find(npu.uuid); word != words.end()) npu.word = word->second;
    row.npus.push_back(std::move(npu));
  }
  return row;
}

std::optional<PodRow> pod_row(const json::object& pod) {
  const std::string_view phase = text_at(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return std::nullopt;
  PodRow row;
  const ObjectMeta meta = meta_of(pod);
  row.space = meta.space;
  row.name = meta.name;
  row.node = text_at(pod, {"spec", "nodeName"});
  if (has_gate(pod) && text_at(pod, {"metadata", "deletionTimestamp"}).empty()) {
    row.queued_since = seconds_of(text_at(pod, {"metadata", "creationTimestamp"}));
  }
  if (row.node.empty()) return row;
  const auto grants = read_grants(text_at(pod, {"metadata", "annotations", names::kGranted}));
  const auto allocation = read_allocation(text_at(pod, {"metadata", "annotations", names::kAllocation}));
  if (!grants || !allocation || allocation->node != row.node) return row;
  row.holdings = holdings_of(pod, *allocation, *grants);
  row.memory_mib = memory_of(*grants);
  return row;
}

std::optional<TenantRow> tenant_row(const json::object& tenant) {
  TenantRow row;
  row.used = amounts_of(tenant, "used");
  row.limits = amounts_of(tenant, "effective");
  row.queued = number_at(tenant, {"status", "queued"});
  return row;
}

}  // namespace tangram::kube::metrics

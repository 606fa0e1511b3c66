#include "kube_manager/support.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <utility>

#include "catalog/catalog.h"
#include "kube/protocol/allocation.h"
#include "kube/protocol/names.h"
#include "wire/schema.h"

namespace tangram::kube::manager {
namespace {

// What FakeTiming's wall clock shows at first.
constexpr std::int64_t kBeginMs = 1'772'366'400'000 + 1'000'000;

json::object& object_in(json::object& parent, std::string_view key) {
  json::value& value = parent[key];
  if (!value.is_object()) value.emplace_object();
  return value.as_object();
}

json::object& annotations_of(json::object& object) {
  return object_in(object_in(object, "metadata"), "annotations");
}

std::string templates_of_310p() {
  for (const Catalog::Chip& chip : Catalog::builtin()->chips()) {
    if (chip.model.name != "310P (24 GiB)") continue;
    json::array names;
    for (const SliceTemplate& shape : chip.model.templates) {
      if (shape.offered) names.emplace_back(shape.name);
    }
    return json::serialize(names);
  }
  std::abort();
}

}  // namespace

ContainerGrant slice_grant(std::string container, std::string template_name, std::int64_t mib) {
  ContainerGrant grant;
  grant.request.container = std::move(container);
  grant.request.resource = "huawei.com/Ascend310P";
  grant.request.memory_mib = mib;
  grant.kind = GrantKind::kSlice;
  grant.template_name = std::move(template_name);
  return grant;
}

ContainerGrant whole_grant(std::string container, std::int64_t count) {
  ContainerGrant grant;
  grant.request.container = std::move(container);
  grant.request.resource = "huawei.com/Ascend310P";
  grant.request.count = count;
  grant.request.memory_mib = 21'527;
  return grant;
}

ContainerGrant vir01() {
  return slice_grant("main", "vir01", 3072);
}

json::object gated_pod(const PodShape& shape) {
  json::object labels{{names::kManagedLabel, "true"}, {names::kTenantLabel, shape.tenant}};
  json::object annotations{{names::kGranted, write_grants(shape.grants)}};
  if (!shape.priority.empty()) annotations[names::kPriority] = shape.priority;
  json::array gates;
  gates.push_back(json::object{{"name", names::kGate}});
  const TimeMs created(kBeginMs - 1'000 * (1'000 + shape.age));
  json::object metadata{{"name", shape.name},
                        {"namespace", "team-a"},
                        {"uid", shape.uid.empty() ? "uid-" + shape.name : shape.uid},
                        {"creationTimestamp", wire::format_time(created)}};
  metadata["labels"] = std::move(labels);
  metadata["annotations"] = std::move(annotations);
  json::object spec;
  spec["schedulingGates"] = std::move(gates);
  json::object pod{{"kind", "Pod"}, {"apiVersion", "v1"}};
  pod["metadata"] = std::move(metadata);
  pod["spec"] = std::move(spec);
  pod["status"] = json::object{{"phase", "Pending"}};
  return pod;
}

void open_gate(json::object& pod) {
  object_in(pod, "spec")["schedulingGates"] = json::array();
  annotations_of(pod)[names::kAdmitted] = "2026-03-01T12:00:00.000Z";
}

void allocate(json::object& pod, const Allocation& allocation) {
  annotations_of(pod)[names::kAllocation] = write_allocation(allocation);
}

void bind_to(json::object& pod, std::string_view node) {
  object_in(pod, "spec")["nodeName"] = node;
}

void end_with(json::object& pod, std::string_view phase) {
  object_in(pod, "status")["phase"] = phase;
}

json::object node_with(std::string_view name, int npus) {
  static const std::string kTemplates = templates_of_310p();
  std::string list;
  for (int i = 0; i < npus; ++i) {
    if (i > 0) list += ',';
    list += R"({"uuid":")" + std::string(name) + "-npu-" + std::to_string(i) + R"(","index":)" +
            std::to_string(i) +
            R"(,"chip":"310P3","health":"ok","allocatableMiB":21527,"aiCores":8,"shares":7,"templates":)" +
            kTemplates + "}";
  }
  json::object annotations{{names::kNodeNpus, R"({"driver":"25.5.0","npus":[)" + list + "]}"}};
  json::object metadata{{"name", name}, {"uid", "uid-" + std::string(name)}};
  metadata["annotations"] = std::move(annotations);
  json::object node{{"kind", "Node"}, {"apiVersion", "v1"}};
  node["metadata"] = std::move(metadata);
  node["spec"] = json::object();
  set_ready(node, true);
  return node;
}

void set_ready(json::object& node, bool ready) {
  json::array conditions;
  conditions.push_back(json::object{{"type", "Ready"}, {"status", ready ? "True" : "Unknown"}});
  object_in(node, "status")["conditions"] = std::move(conditions);
}

json::object tenant_with(std::string_view name, std::string_view quota, std::string_view parent) {
  json::object spec;
  spec["quota"] = parse_object(quota).value();
  spec["namespaceSelector"] = json::object{{"matchLabels", json::object{{"team", std::string(name)}}}};
  if (!parent.empty()) spec["parent"] = parent;
  json::object tenant{{"kind", "Tenant"}, {"apiVersion", "tangram.dev/v1"}};
  tenant["metadata"] = json::object{{"name", name}, {"uid", "uid-" + std::string(name)}};
  tenant["spec"] = std::move(spec);
  return tenant;
}

extender::PodRef ref_of(const json::object& pod) {
  const ObjectMeta meta = meta_of(pod);
  return {std::string(meta.space), std::string(meta.name), std::string(meta.uid)};
}

Bench::Bench(BookOptions options) : book(options, timing) {}

void Bench::put(const json::object& object) {
  const std::string_view kind = text_at(object, {"kind"});
  if (kind == "Pod") {
    book.put_pod(read_pod_facts(object).value());
  } else if (kind == "Node") {
    book.put_node(read_node_facts(object).value());
  } else if (kind == "Tenant") {
    book.put_tenant(wire::read_cluster_tenant(json::serialize(object)).value());
  } else {
    std::abort();
  }
}

extender::Fit Bench::fit(const json::object& pod, const std::string& node) {
  const std::vector<std::string> nodes{node};
  const auto fits = book.filter(ref_of(pod), nodes);
  if (!fits) {
    ADD_FAILURE() << fits.error().to_string();
    return {};
  }
  return fits->front();
}

std::vector<std::string> Bench::admit_all() {
  std::vector<std::string> names;
  for (const Opening& opening : book.admit(10'000)) {
    book.opened(opening.pod);
    names.push_back(opening.pod.name);
  }
  return names;
}

void Bench::place(json::object& pod, const std::string& node) {
  const auto reserved = book.reserve(ref_of(pod), node);
  if (!reserved) {
    ADD_FAILURE() << reserved.error().to_string();
    return;
  }
  open_gate(pod);
  allocate(pod, reserved->allocation);
  bind_to(pod, node);
  put(pod);
}

std::int64_t Bench::used_npus(std::string_view tenant) {
  for (const TenantUse& use : book.tenants()) {
    if (use.name == tenant) return use.used.npus;
  }
  ADD_FAILURE() << "no tenant " << tenant;
  return -1;
}

}  // namespace tangram::kube::manager

#include "kube/protocol/allocation.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "kube/protocol/fields.h"
#include "kube/protocol/names.h"

namespace tangram::kube {
namespace {

using protocol::bad_field;

constexpr std::int64_t kIndexMax = 1'000'000;
constexpr std::int64_t kVgroupMax = 15;

Result<const json::array*> list_field(const json::object& object, std::string_view where,
                                      std::string_view field, std::size_t most) {
  const json::value* const value = object.if_contains(field);
  const json::array* const list = value != nullptr ? value->if_array() : nullptr;
  if (list == nullptr || list->size() > most) {
    return bad_field(where, field, "a list of at most " + std::to_string(most) + " entries");
  }
  return list;
}

Result<AllocatedNpu> npu_of(const json::value& value, std::string_view where) {
  TG_TRY(const json::object* const object, protocol::object_of(value, where));
  AllocatedNpu npu;
  TG_TRY(npu.uuid, protocol::text_field(*object, where, "uuid", true));
  TG_TRY(npu.index, protocol::number_field(*object, where, "index", 0, kIndexMax));
  return npu;
}

Result<ContainerAllocation> container_of(const json::value& value, std::string_view where) {
  TG_TRY(const json::object* const object, protocol::object_of(value, where));
  ContainerAllocation container;
  TG_TRY(container.container, protocol::text_field(*object, where, "container", true));
  TG_TRY(const std::string kind, protocol::text_field(*object, where, "kind", true));
  TG_TRY(container.template_name, protocol::text_field(*object, where, "template", false));
  TG_TRY(const json::array* const npus,
         list_field(*object, where, "npus", static_cast<std::size_t>(kNpusPerContainerMax)));
  if (kind != "slice" && kind != "whole") return bad_field(where, "kind", "\"slice\" or \"whole\"");
  container.kind = kind == "slice" ? GrantKind::kSlice : GrantKind::kWhole;
  const bool is_slice = container.kind == GrantKind::kSlice;
  if (is_slice == container.template_name.empty()) {
    return bad_field(where, "template", "there for a slice alone");
  }
  if (npus->empty() || (is_slice && npus->size() != 1)) {
    return bad_field(where, "npus", "at least one, and of a slice exactly one");
  }
  for (const json::value& npu : *npus) {
    TG_TRY(AllocatedNpu one, npu_of(npu, where));
    container.npus.push_back(std::move(one));
  }
  if (object->contains("vgroup")) {
    TG_TRY(const std::int64_t vgroup, protocol::number_field(*object, where, "vgroup", 0, kVgroupMax));
    if (!is_slice) return bad_field(where, "vgroup", "there for a slice alone");
    container.vgroup = static_cast<std::int32_t>(vgroup);
  }
  return container;
}

json::object object_of_container(const ContainerAllocation& container) {
  json::object object{{"container", container.container}, {"kind", to_string(container.kind)}};
  if (!container.template_name.empty()) object["template"] = container.template_name;
  json::array npus;
  for (const AllocatedNpu& npu : container.npus) {
    npus.push_back(json::object{{"uuid", npu.uuid}, {"index", npu.index}});
  }
  object["npus"] = std::move(npus);
  if (container.vgroup) object["vgroup"] = *container.vgroup;
  return object;
}

}  // namespace

std::string write_allocation(const Allocation& allocation) {
  json::array containers;
  for (const ContainerAllocation& container : allocation.containers) {
    containers.push_back(object_of_container(container));
  }
  json::object object{{"node", allocation.node}, {"time", allocation.time}};
  object["containers"] = std::move(containers);
  return json::serialize(object);
}

Result<Allocation> read_allocation(std::string_view text) {
  if (text.size() > kAnnotationBytesMax) {
    return bad_field(names::kAllocation, "value",
                     "at most " + std::to_string(kAnnotationBytesMax) + " bytes long");
  }
  const Result<json::object> object = parse_object(text);
  if (!object) return bad_field(names::kAllocation, "value", "a JSON object");
  Allocation allocation;
  TG_TRY(allocation.node, protocol::text_field(*object, names::kAllocation, "node", true));
  TG_TRY(allocation.time, protocol::text_field(*object, names::kAllocation, "time", false));
  TG_TRY(const json::array* const containers,
         list_field(*object, names::kAllocation, "containers", kNpuContainersMax));
  for (const json::value& value : *containers) {
    const std::string where =
        "entry " + std::to_string(allocation.containers.size()) + " of " + std::string(names::kAllocation);
    TG_TRY(ContainerAllocation container, container_of(value, where));
    allocation.containers.push_back(std::move(container));
  }
  return allocation;
}

}  // namespace tangram::kube

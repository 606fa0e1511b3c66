#include "kube/protocol/container_request.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "kube/protocol/fields.h"
#include "kube/protocol/names.h"

namespace tangram::kube {
namespace {

using protocol::bad_field;

json::object object_of_request(const ContainerRequest& request) {
  json::object object{{"container", request.container},
                      {"init", request.init},
                      {"sidecar", request.sidecar},
                      {"resource", request.resource},
                      {"count", request.count}};
  if (request.memory_mib) object["memoryMiB"] = *request.memory_mib;
  object["cores"] = request.cores;
  return object;
}

Result<ContainerRequest> request_of(const json::object& object, std::string_view where) {
  ContainerRequest request;
  TG_TRY(request.container, protocol::text_field(object, where, "container", true));
  TG_TRY(request.init, protocol::flag_field(object, where, "init"));
  TG_TRY(request.sidecar, protocol::flag_field(object, where, "sidecar"));
  TG_TRY(request.resource, protocol::text_field(object, where, "resource", true));
  TG_TRY(request.count, protocol::number_field(object, where, "count", 1, kNpusPerContainerMax));
  TG_TRY(request.cores, protocol::number_field(object, where, "cores", 0, kMemoryMibMax));
  if (object.contains("memoryMiB")) {
    TG_TRY(request.memory_mib, protocol::number_field(object, where, "memoryMiB", 0, kMemoryMibMax));
  }
  if (request.count < 1) return bad_field(where, "count", "at least 1");
  if (request.sidecar && !request.init) return bad_field(where, "sidecar", "false: it is no init container");
  return request;
}

Result<ContainerGrant> grant_of(const json::object& object, std::string_view where) {
  ContainerGrant grant;
  TG_TRY(grant.request, request_of(object, where));
  TG_TRY(const std::string kind, protocol::text_field(object, where, "kind", true));
  TG_TRY(grant.template_name, protocol::text_field(object, where, "template", false));
  TG_TRY(grant.why, protocol::text_field(object, where, "why", false));
  if (kind != "slice" && kind != "whole") return bad_field(where, "kind", "\"slice\" or \"whole\"");
  grant.kind = kind == "slice" ? GrantKind::kSlice : GrantKind::kWhole;
  if (!grant.request.memory_mib) return bad_field(where, "memoryMiB", "there");
  const bool is_slice = grant.kind == GrantKind::kSlice;
  if (is_slice == grant.template_name.empty()) return bad_field(where, "template", "there for a slice alone");
  if (is_slice && grant.request.count != 1) return bad_field(where, "count", "1 for a slice");
  return grant;
}

// Every entry by `read`, which takes the object and where it stands.
template <class T>
Result<std::vector<T>> read_entries(std::string_view text, std::string_view name,
                                    Result<T> (*read)(const json::object&, std::string_view)) {
  TG_TRY(const json::array list, protocol::read_list(text, name, kNpuContainersMax));
  std::vector<T> entries;
  entries.reserve(list.size());
  for (const json::value& value : list) {
    const std::string where = "entry " + std::to_string(entries.size()) + " of " + std::string(name);
    TG_TRY(const json::object* const object, protocol::object_of(value, where));
    TG_TRY(T entry, read(*object, where));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::string_view to_string(GrantKind kind) {
  switch (kind) {
    case GrantKind::kSlice:
      return "slice";
    case GrantKind::kWhole:
      return "whole";
  }
  return "unknown";
}

std::string write_requests(std::span<const ContainerRequest> requests) {
  json::array list;
  for (const ContainerRequest& request : requests) list.push_back(object_of_request(request));
  return json::serialize(list);
}

std::string write_grants(std::span<const ContainerGrant> grants) {
  json::array list;
  for (const ContainerGrant& grant : grants) {
    json::object object = object_of_request(grant.request);
    object["kind"] = std::string(to_string(grant.kind));
    if (!grant.template_name.empty()) object["template"] = grant.template_name;
    if (!grant.why.empty()) object["why"] = grant.why;
    list.push_back(std::move(object));
  }
  return json::serialize(list);
}

Result<std::vector<ContainerRequest>> read_requests(std::string_view text) {
  return read_entries<ContainerRequest>(text, names::kRequested, request_of);
}

Result<std::vector<ContainerGrant>> read_grants(std::string_view text) {
  return read_entries<ContainerGrant>(text, names::kGranted, grant_of);
}

}  // namespace tangram::kube

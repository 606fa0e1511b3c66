#include "kube/api/resource.h"

#include <algorithm>

#include "base/quote.h"
#include "net/http.h"

namespace tangram::kube {
namespace {

constexpr std::size_t kNameBytesMax = 253;  // a DNS subdomain; some kinds (RBAC) allow other letters

// Escaping alone is not enough: servers and proxies resolve "." and ".." before they look.
bool fits(std::string_view name) {
  const auto bad = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '/' || c == '%';
  };
  return !name.empty() && name.size() <= kNameBytesMax && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), bad);
}

tl::unexpected<Error> invalid(std::string_view what, std::string_view name) {
  return fail(Code::kInvalidArgument, "kube.name.invalid",
              quoted(name, 100) + " cannot be the " + std::string(what) + " of an object in the API",
              "a name has 1 to 253 letters, digits, \"-\" and \".\"");
}

}  // namespace

std::string ObjectName::to_string() const {
  std::string text = resource.plural + " ";
  if (!space.empty()) text += printable(space, 63) + "/";
  text += printable(name, 253);
  if (!subresource.empty()) text += "/" + subresource;
  return text;
}

Result<std::string> path_of(const Resource& resource, std::string_view space) {
  std::string path = resource.group.empty() ? "/api/" : "/apis/" + resource.group + "/";
  path += resource.version;
  if (!space.empty()) {
    if (!resource.namespaced || !fits(space)) return invalid("namespace", space);
    path += "/namespaces/" + net::encode_segment(space);
  }
  return path + "/" + resource.plural;
}

Result<std::string> path_of(const ObjectName& object) {
  if (object.resource.namespaced && object.space.empty()) return invalid("namespace", object.space);
  TG_TRY(std::string path, path_of(object.resource, object.space));
  if (!fits(object.name)) return invalid("name", object.name);
  path += "/" + net::encode_segment(object.name);
  if (!object.subresource.empty()) {
    if (!fits(object.subresource)) return invalid("subresource", object.subresource);
    path += "/" + net::encode_segment(object.subresource);
  }
  return path;
}

namespace resources {

Resource pods() {
  return {"", "v1", "pods", true, "Pod"};
}

Resource nodes() {
  return {"", "v1", "nodes", false, "Node"};
}

Resource events() {
  return {"events.k8s.io", "v1", "events", true, "Event"};
}

Resource leases() {
  return {"coordination.k8s.io", "v1", "leases", true, "Lease"};
}

}  // namespace resources
}  // namespace tangram::kube

// The names of things in the API: which kind, which object, and the path that leads there. Values; pure
// functions. Source: Kubernetes API concepts, "Resource URIs".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram::kube {

// A kind as its path names it.
struct Resource {
  std::string group;    // "" is the core group
  std::string version;  // "v1"
  std::string plural;   // "pods"
  bool namespaced = true;
  std::string kind;  // "Pod"

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  friend bool operator==(const Resource&, const Resource&) = default;
};

// One object, or one of its subresources.
struct ObjectName {
  Resource resource;
  std::string space;  // namespace; empty where the resource has none
  std::string name;
  std::string subresource{};  // "status", "eviction", "binding"

  // "pods team-a/train-0/status", for messages.
  std::string to_string() const;
};

// "/api/v1/namespaces/team-a/pods/train-0/status". Errors: kInvalidArgument "kube.name.invalid" for a name
// that is empty or could be read as another path ("..", a slash).
Result<std::string> path_of(const ObjectName& object);
// Of all objects, in one namespace or (empty) in all.
Result<std::string> path_of(const Resource& resource, std::string_view space);

namespace resources {

Resource pods();
Resource nodes();
Resource events();  // events.k8s.io
Resource leases();  // coordination.k8s.io

}  // namespace resources
}  // namespace tangram::kube

// The custom resource definitions of Kubernetes, made from the same tables by which documents are read: what
// deploy/crds/ holds. Thread-safe: pure functions.
#pragma once

#include <string>
#include <vector>

namespace tangram::wire {

struct CustomResource {
  std::string name;  // "tenants.tangram.dev"
  std::string yaml;  // one CustomResourceDefinition of apiextensions.k8s.io/v1
};

std::vector<CustomResource> custom_resources();

}  // namespace tangram::wire

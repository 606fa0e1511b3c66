// The wire between agent and kubelet: gRPC over Unix sockets. All of gRPC is in kubelet_link.cc.
//
// Source: k8s.io/kubelet, apis/deviceplugin/v1beta1 and apis/podresources/v1.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/node/agent.h"

namespace tangram::kube::node {

// Serves the device plugin of one resource while it lives. A stale socket at the path is removed; only root
// may connect.
class PluginServer {
 public:
  virtual ~PluginServer() = default;
};
// Errors: kUnavailable "node.socket.unusable".
Result<std::unique_ptr<PluginServer>> serve_plugin(Agent& agent, const std::string& resource,
                                                   const std::string& socket);

// Tells the kubelet at `kubelet_socket` of the plugin whose socket, in the same directory, is called
// `endpoint`. Errors: kUnavailable "node.kubelet.away".
Result<void> register_plugin(const std::string& kubelet_socket, const std::string& endpoint,
                             const std::string& resource);

struct KubeletPaths {
  std::string pod_resources;  // its socket
  std::string record;         // kubelet_internal_checkpoint
};

// Asks pod-resources and reads the record. A record that cannot be read is left out; pod-resources that
// cannot be asked is an error, kUnavailable "node.kubelet.away".
std::unique_ptr<KubeletSource> make_kubelet_source(KubeletPaths paths, IsOwnResource is_own);

}  // namespace tangram::kube::node

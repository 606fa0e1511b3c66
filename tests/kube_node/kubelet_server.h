// A small kubelet over real gRPC: takes device plugins, calls them as the kubelet does, and says who has
// what.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube_node/fakes.h"

namespace tangram::kube::node {

struct SeenDevice {
  std::string id;
  std::string health;
  std::vector<std::int64_t> numa;
};

struct PluginAnswer {
  bool ok = false;
  int code = 0;  // of gRPC
  std::string message;
};

struct AllocatedDevice {
  std::string host, container, permissions;
};

// Thread-safe.
class KubeletServer {
 public:
  virtual ~KubeletServer() = default;

  // Empties its directory, as the kubelet does when it starts, and listens.
  virtual void start() = 0;
  virtual void stop() = 0;

  virtual std::vector<std::string> registered() const = 0;  // "resource endpoint", in their order
  // What the last ListAndWatch of the resource has said; a stream is opened with each registration.
  virtual std::vector<SeenDevice> devices_of(const std::string& resource) const = 0;
  std::vector<SeenDevice> devices() const { return devices_of(kTestResource); }

  virtual std::vector<std::string> preferred(const std::vector<std::string>& available, int size) = 0;
  // Allocates for the container and writes it down; its devices.
  virtual std::vector<AllocatedDevice> allocate(const NodePod& pod, const std::string& container,
                                                const ShareIds& ids) = 0;
  virtual PluginAnswer pre_start(const ShareIds& ids) = 0;
  virtual void forget(const std::string& uid) = 0;

  virtual std::string pod_resources() const = 0;  // path of its socket
  virtual std::string record() const = 0;         // path of its record
};

std::unique_ptr<KubeletServer> make_kubelet_server(const Workplace& place);

}  // namespace tangram::kube::node

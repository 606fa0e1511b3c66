// Keeps the device plugin registered with the kubelet, across restarts of it: a kubelet that starts empties
// the directory of sockets and makes its own anew.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "kube/node/agent.h"
#include "net/interrupt.h"

namespace tangram::kube::node {

inline constexpr const char* kEndpointPrefix = "tangram-";

// Name of the socket of the plugin that offers the resource: "tangram-Ascend310P.sock".
std::string endpoint_of(std::string_view resource);

struct PluginLifeOptions {
  std::string directory;                  // /var/lib/kubelet/device-plugins
  std::chrono::milliseconds rest{1'000};  // after a try that failed
  // The directory is looked at that often at least, should its news be lost.
  std::chrono::milliseconds look_period{5'000};
};

// A plugin for each resource that the agent offers: the kubelet knows a plugin by one.
class PluginLife {
 public:
  PluginLife(Agent& agent, PluginLifeOptions options) : agent_(agent), options_(std::move(options)) {}

  // Takes the caller's thread until `stop` is raised, and one for each resource.
  void run(const net::Interrupt& stop);

  // How often the kubelet took one. From any thread.
  int registrations() const { return registrations_; }

 private:
  void serve(const std::string& resource, const net::Interrupt& stop);

  Agent& agent_;
  const PluginLifeOptions options_;
  std::atomic<int> registrations_ = 0;
};

}  // namespace tangram::kube::node

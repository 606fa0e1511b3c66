// The agent's way to the API server: the Pods of its node by a watch, and what it writes: annotations of its
// Node and of those Pods.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kube/api/client.h"
#include "kube/api/object_cache.h"
#include "kube/api/reflector.h"
#include "kube/node/agent.h"

namespace tangram::kube::node {

// Thread-safe. One thread of its own follows the Pods.
class ClusterLink final : public PodSource {
 public:
  // `client` must outlive it.
  ClusterLink(ApiClient& client, std::string node);
  ~ClusterLink() override;
  ClusterLink(const ClusterLink&) = delete;
  ClusterLink& operator=(const ClusterLink&) = delete;

  void start();
  void stop();

  Result<std::vector<NodePod>> pods() override;
  Result<std::vector<NodePod>> fresh() override;

  Result<json::object> node();
  // Errors as ApiClient::merge_patch().
  Result<void> write_facts(const MachineFacts& facts);
  // kConflict when the Pod of that name is another one by now.
  Result<void> write_note(const ContainerRef& pod, const PodNote& note);

 private:
  Selection own_pods() const;
  ObjectName own_node() const { return {resources::nodes(), "", node_}; }

  ApiClient& client_;
  const std::string node_;
  net::Interrupt stop_;
  std::mutex mutex_;
  std::map<std::string, NodePod> pods_;  // by "namespace/name"
  bool synced_ = false;
  std::unique_ptr<ObjectCache<NodePod>> cache_;
  std::unique_ptr<Reflector> reflector_;
  std::thread thread_;
};

}  // namespace tangram::kube::node

// What the cluster says of the agent's own node: the NodeConfigs that select it, and who has asked for a new
// report of its NPUs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kube/api/client.h"
#include "kube/api/object_cache.h"
#include "kube/api/reflector.h"
#include "wire/cluster.h"

namespace tangram::kube::node {

// Thread-safe. Two threads of its own follow the Node and the NodeConfigs.
class NodeLink {
 public:
  // `client` must outlive it.
  NodeLink(ApiClient& client, const std::string& node);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  void start();
  void stop();

  // By name; none until Node and NodeConfigs are known. A cluster that does not know the kind has no
  // NodeConfigs.
  std::optional<std::vector<wire::NodeConfig>> configs() const;

  // Words of chips of which HAMi's scheduler waits for a report.
  std::set<std::string> asked() const;

 private:
  struct OwnNode {
    wire::Labels labels;
    std::set<std::string> asked;

    friend bool operator==(const OwnNode&, const OwnNode&) = default;
  };

  static OwnNode read_node(const json::object& node);
  void follow_node(ApiClient& client, const std::string& node);
  void follow_configs(ApiClient& client);
  void note_trouble(const Error& error);

  mutable std::mutex mutex_;
  std::optional<OwnNode> node_;
  std::map<std::string, wire::NodeConfig> configs_;
  bool configs_known_ = false;
  std::string warned_;  // of the NodeConfigs

  net::Interrupt stop_;
  std::unique_ptr<ObjectSink> node_cache_;
  std::unique_ptr<ObjectSink> config_cache_;
  std::unique_ptr<Reflector> node_reflector_;
  std::unique_ptr<Reflector> config_reflector_;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::kube::node

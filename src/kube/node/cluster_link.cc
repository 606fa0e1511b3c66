#include "kube/node/cluster_link.h"

#include <utility>

#include "base/log.h"
#include "kube/node/inventory.h"
#include "kube/protocol/names.h"

namespace tangram::kube::node {

ClusterLink::ClusterLink(ApiClient& client, std::string node) : client_(client), node_(std::move(node)) {
  ObjectCache<NodePod>::Handlers handlers;
  const auto put = [this](const std::string& key, const NodePod& pod) {
    const std::lock_guard lock(mutex_);
    pods_.insert_or_assign(key, pod);
  };
  handlers.on_add = put;
  handlers.on_update = [put](const std::string& key, const NodePod&, const NodePod& now) { put(key, now); };
  handlers.on_delete = [this](const std::string& key, const NodePod&) {
    const std::lock_guard lock(mutex_);
    pods_.erase(key);
  };
  handlers.on_synced = [this] {
    const std::lock_guard lock(mutex_);
    synced_ = true;
  };
  cache_ = std::make_unique<ObjectCache<NodePod>>(
      [this](const json::object& pod) { return read_pod(pod, node_); }, std::move(handlers));
  ReflectorOptions options;
  options.selection = own_pods();
  options.on_trouble = [](const Error& error) { log::warn(error.to_string()); };
  reflector_ = std::make_unique<Reflector>(client_, std::move(options), *cache_);
}

ClusterLink::~ClusterLink() {
  stop();
}

Selection ClusterLink::own_pods() const {
  Selection selection;
  selection.resource = resources::pods();
  selection.field_selector = "spec.nodeName=" + node_;
  return selection;
}

void ClusterLink::start() {
  thread_ = std::thread([this] { reflector_->run(stop_); });
}

void ClusterLink::stop() {
  stop_.raise();
  if (thread_.joinable()) thread_.join();
}

Result<std::vector<NodePod>> ClusterLink::pods() {
  const std::lock_guard lock(mutex_);
  if (!synced_)
    return fail(Code::kUnavailable, "node.pods.unknown", "the Pods of this node are not known yet");
  std::vector<NodePod> pods;
  pods.reserve(pods_.size());
  for (const auto& [key, pod] : pods_) pods.push_back(pod);
  return pods;
}

Result<std::vector<NodePod>> ClusterLink::fresh() {
  std::vector<NodePod> pods;
  ListQuery query;
  query.selection = own_pods();
  const auto take = [&](const json::object& pod) -> Result<void> {
    if (auto read = read_pod(pod, node_)) pods.push_back(std::move(*read));
    return {};
  };
  CallOptions options;
  options.interrupt = &stop_;
  TG_TRY(const std::string version, client_.list(query, take, options));
  (void)version;
  return pods;
}

Result<json::object> ClusterLink::node() {
  TG_TRY(const std::string text, client_.get(own_node()));
  return parse_object(text);
}

Result<void> ClusterLink::write_facts(const MachineFacts& facts) {
  json::object annotations;
  for (const auto& [key, value] : node_annotations(facts, std::chrono::system_clock::now())) {
    annotations[key] = value;
  }
  json::object patch{{"metadata", json::object{{"annotations", std::move(annotations)}}}};
  TG_TRY(const std::string now, client_.merge_patch(own_node(), std::move(patch)));
  (void)now;
  return {};
}

Result<void> ClusterLink::write_note(const ContainerRef& pod, const PodNote& note) {
  json::object annotations;
  annotations[names::kAllocated] = note.allocated;
  if (!note.bind_phase.empty()) annotations[names::kHamiBindPhase] = note.bind_phase;
  json::object patch{{"metadata", json::object{{"uid", pod.uid}, {"annotations", std::move(annotations)}}}};
  const ObjectName name{resources::pods(), pod.space, pod.pod};
  TG_TRY(const std::string now, client_.merge_patch(name, std::move(patch)));
  (void)now;
  return {};
}

}  // namespace tangram::kube::node

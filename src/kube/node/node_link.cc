#include "kube/node/node_link.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "base/log.h"
#include "kube/api/failure.h"
#include "kube/node/node_config.h"
#include "kube/protocol/names.h"

namespace tangram::kube::node {
namespace {

Resource node_configs() {
  return {std::string(names::kGroup), std::string(names::kVersion), "nodeconfigs", false, "NodeConfig"};
}

std::string_view text_of(const json::value& value) {
  const json::string* const text = value.if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

}  // namespace

NodeLink::NodeLink(ApiClient& client, const std::string& node) {
  follow_node(client, node);
  follow_configs(client);
}

NodeLink::~NodeLink() {
  stop();
}

NodeLink::OwnNode NodeLink::read_node(const json::object& node) {
  OwnNode own;
  if (const json::object* const labels = object_at(node, {"metadata", "labels"})) {
    for (const json::key_value_pair& label : *labels) {
      own.labels.emplace(label.key(), std::string(text_of(label.value())));
    }
  }
  if (const json::object* const annotations = object_at(node, {"metadata", "annotations"})) {
    const std::string prefix = names::hami_node_handshake("");
    for (const json::key_value_pair& one : *annotations) {
      const std::string_view key(one.key().data(), one.key().size());
      const bool waits = key.starts_with(prefix) && text_of(one.value()).starts_with("Requesting");
      if (waits) own.asked.emplace(key.substr(prefix.size()));
    }
  }
  return own;
}

void NodeLink::follow_node(ApiClient& client, const std::string& node) {
  using Cache = ObjectCache<OwnNode>;
  const auto put = [this](const OwnNode& own) {
    const std::lock_guard lock(mutex_);
    node_ = own;
  };
  // What was known of a Node that is deleted stays: the machine is the same.
  Cache::Handlers handlers;
  handlers.on_add = [put](const std::string&, const OwnNode& own) { put(own); };
  handlers.on_update = [put](const std::string&, const OwnNode&, const OwnNode& own) { put(own); };
  node_cache_ = std::make_unique<Cache>(
      [](const json::object& object) { return std::optional(read_node(object)); }, std::move(handlers));
  ReflectorOptions options;
  options.selection.resource = resources::nodes();
  options.selection.field_selector = "metadata.name=" + node;
  options.on_trouble = [](const Error& error) { log::warn("following the node: " + error.to_string()); };
  node_reflector_ = std::make_unique<Reflector>(client, std::move(options), *node_cache_);
}

void NodeLink::follow_configs(ApiClient& client) {
  using Cache = ObjectCache<wire::NodeConfig>;
  const auto put = [this](const std::string& name, const wire::NodeConfig& config) {
    const std::lock_guard lock(mutex_);
    configs_.insert_or_assign(name, config);
  };
  Cache::Handlers handlers;
  handlers.on_add = put;
  handlers.on_update = [put](const std::string& name, const wire::NodeConfig&, const wire::NodeConfig& now) {
    put(name, now);
  };
  handlers.on_delete = [this](const std::string& name, const wire::NodeConfig&) {
    const std::lock_guard lock(mutex_);
    configs_.erase(name);
  };
  handlers.on_synced = [this] {
    const std::lock_guard lock(mutex_);
    configs_known_ = true;
  };
  const auto extract = [](const json::object& object) -> std::optional<wire::NodeConfig> {
    auto config = wire::read_node_config(json::serialize(object));
    if (config) return std::move(*config);
    log::warn("NodeConfig " + std::string(meta_of(object).name) +
              " cannot be read and is as if it were not there: " + config.error().to_string());
    return std::nullopt;
  };
  config_cache_ = std::make_unique<Cache>(extract, std::move(handlers));
  ReflectorOptions options;
  options.selection.resource = node_configs();
  options.on_trouble = [this](const Error& error) { note_trouble(error); };
  config_reflector_ = std::make_unique<Reflector>(client, std::move(options), *config_cache_);
}

void NodeLink::note_trouble(const Error& error) {
  const std::lock_guard lock(mutex_);
  // Only at the start: later it says nothing about those that are known.
  if (failure_of(error) == Failure::kNotFound) configs_known_ = true;
  std::string text = error.to_string();
  if (text == warned_) return;
  log::warn("following NodeConfigs: " + text);
  warned_ = std::move(text);
}

void NodeLink::start() {
  for (Reflector* const reflector : {node_reflector_.get(), config_reflector_.get()}) {
    threads_.emplace_back([this, reflector] { reflector->run(stop_); });
  }
}

void NodeLink::stop() {
  stop_.raise();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::optional<std::vector<wire::NodeConfig>> NodeLink::configs() const {
  const std::lock_guard lock(mutex_);
  if (!node_ || !configs_known_) return std::nullopt;
  std::vector<wire::NodeConfig> all;
  for (const auto& [name, config] : configs_) all.push_back(config);
  return selected_by(all, node_->labels);
}

std::set<std::string> NodeLink::asked() const {
  const std::lock_guard lock(mutex_);
  return node_ ? node_->asked : std::set<std::string>();
}

}  // namespace tangram::kube::node

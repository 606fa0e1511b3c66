#include "kube/manager/feed.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "kube/api/object_cache.h"
#include "kube/manager/facts.h"
#include "kube/protocol/names.h"
#include "wire/cluster.h"

namespace tangram::kube::manager {
namespace {

constexpr std::size_t kKinds = 5;

Selection own(const char* plural, const char* kind) {
  Selection selection;
  selection.resource = {std::string(names::kGroup), std::string(names::kVersion), plural, false, kind};
  return selection;
}

// An object of one of our own kinds, by its reader.
template <class T>
std::optional<T> read_own(const char* kind, const json::object& object, Result<T> (*read)(std::string_view)) {
  Result<T> value = read(json::serialize(object));
  if (value) return std::move(*value);
  log::warn(std::string(kind) + " " + std::string(meta_of(object).name) +
            " cannot be read and is as if it were not there: " + value.error().to_string());
  return std::nullopt;
}

std::optional<wire::Labels> labels_of(const json::object& object) {
  wire::Labels labels;
  if (const json::object* const present = object_at(object, {"metadata", "labels"})) {
    for (const json::key_value_pair& member : *present) {
      const json::string* const text = member.value().if_string();
      if (text != nullptr) labels.emplace(member.key(), std::string(text->data(), text->size()));
    }
  }
  return labels;
}

// A cache that tells `put` of all that is new or changed.
template <class T, class Put, class Remove>
std::unique_ptr<ObjectSink> cache_of(typename ObjectCache<T>::Extract extract, Put put, Remove remove,
                                     std::function<void()> synced) {
  typename ObjectCache<T>::Handlers handlers;
  handlers.on_add = put;
  handlers.on_update = [put](const std::string& key, const T&, const T& now) { put(key, now); };
  handlers.on_delete = std::move(remove);
  handlers.on_synced = std::move(synced);
  return std::make_unique<ObjectCache<T>>(std::move(extract), std::move(handlers));
}

}  // namespace

struct Feed::Kind {
  std::unique_ptr<ObjectSink> sink;
  std::unique_ptr<Reflector> reflector;
  std::thread thread;
};

Feed::Feed(ApiClient& client, ClusterBook& book, bool watch_list)
    : client_(client), book_(book), watch_list_(watch_list), synced_(kKinds, false) {
  follow_tenants();
  follow_namespaces();
  follow_chips();
  follow_nodes();
  follow_pods();
  for (const std::unique_ptr<Kind>& kind : kinds_) {
    kind->thread = std::thread([this, reflector = kind->reflector.get()] { reflector->run(stop_); });
  }
}

Feed::~Feed() {
  stop_.raise();
  for (const std::unique_ptr<Kind>& kind : kinds_) kind->thread.join();
}

std::function<void()> Feed::synced(std::size_t kind) {
  return [this, kind] {
    const std::lock_guard lock(mutex_);
    synced_[kind] = true;
    if (std::all_of(synced_.begin(), synced_.end(), [](bool one) { return one; })) book_.complete();
  };
}

void Feed::add(Selection selection, std::unique_ptr<ObjectSink> sink) {
  auto kind = std::make_unique<Kind>();
  kind->sink = std::move(sink);
  ReflectorOptions options;
  options.watch_list = watch_list_;
  options.on_trouble = [what = selection.resource.plural](const Error& error) {
    log::warn("following " + what + ": " + error.to_string());
  };
  options.selection = std::move(selection);
  kind->reflector = std::make_unique<Reflector>(client_, std::move(options), *kind->sink);
  kinds_.push_back(std::move(kind));
}

void Feed::follow_tenants() {
  add(own("tenants", "Tenant"),
      cache_of<wire::ClusterTenant>(
          [](const json::object& object) {
            return read_own<wire::ClusterTenant>("Tenant", object, wire::read_cluster_tenant);
          },
          [this](const std::string&, const wire::ClusterTenant& tenant) { book_.put_tenant(tenant); },
          [this](const std::string& name, const wire::ClusterTenant&) { book_.remove_tenant(name); },
          synced(0)));
}

void Feed::follow_namespaces() {
  Selection selection;
  selection.resource = {"", "v1", "namespaces", false, "Namespace"};
  selection.metadata_only = true;
  add(std::move(selection),
      cache_of<wire::Labels>(
          labels_of,
          [this](const std::string& name, const wire::Labels& labels) { book_.put_namespace(name, labels); },
          [this](const std::string& name, const wire::Labels&) { book_.remove_namespace(name); }, synced(1)));
}

void Feed::follow_chips() {
  add(own("chipmodels", "ChipModel"),
      cache_of<wire::ClusterChip>(
          [](const json::object& object) {
            return read_own<wire::ClusterChip>("ChipModel", object, wire::read_cluster_chip);
          },
          [this](const std::string&, const wire::ClusterChip& chip) { book_.put_chip(chip); },
          [this](const std::string& name, const wire::ClusterChip&) { book_.remove_chip(name); }, synced(2)));
}

void Feed::follow_nodes() {
  Selection selection;
  selection.resource = resources::nodes();
  add(std::move(selection),
      cache_of<NodeFacts>(
          read_node_facts, [this](const std::string&, const NodeFacts& node) { book_.put_node(node); },
          [this](const std::string& name, const NodeFacts&) { book_.remove_node(name); }, synced(3)));
}

void Feed::follow_pods() {
  Selection selection;
  selection.resource = resources::pods();
  selection.label_selector = std::string(names::kManagedLabel) + "=true";
  add(std::move(selection),
      cache_of<PodFacts>(
          [](const json::object& object) {
            std::optional<PodFacts> facts = read_pod_facts(object);
            // It holds nothing any more; there may be many of them, kept for their logs.
            if (facts && facts->ended) facts.reset();
            return facts;
          },
          [this](const std::string&, const PodFacts& pod) { book_.put_pod(pod); },
          [this](const std::string&, const PodFacts& pod) { book_.remove_pod(pod.ref); }, synced(4)));
}

}  // namespace tangram::kube::manager

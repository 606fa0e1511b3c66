#include "kube/metrics/cluster_feed.h"

#include <utility>

#include "base/log.h"
#include "kube/api/object_cache.h"
#include "kube/protocol/names.h"

namespace tangram::kube::metrics {

struct ClusterFeed::Kind {
  std::unique_ptr<ObjectSink> sink;
  std::unique_ptr<Reflector> reflector;
  bool read = false;  // touched by its thread alone
  std::thread thread;
};

template <class Row>
void ClusterFeed::follow(Selection selection, std::optional<Row> (*row_of)(const json::object&),
                         std::map<std::string, Row> ClusterRows::* rows) {
  auto kind = std::make_unique<Kind>();
  const auto put = [this, rows](const std::string& key, const Row& row) {
    const std::lock_guard lock(mutex_);
    (rows_.*rows).insert_or_assign(key, row);
  };
  using Cache = ObjectCache<Row>;
  typename Cache::Handlers handlers;
  handlers.on_add = put;
  handlers.on_update = [put](const std::string& key, const Row&, const Row& now) { put(key, now); };
  handlers.on_delete = [this, rows](const std::string& key, const Row&) {
    const std::lock_guard lock(mutex_);
    (rows_.*rows).erase(key);
  };
  handlers.on_synced = [this, one = kind.get()] {
    if (!std::exchange(one->read, true)) ++kinds_read_;
  };
  kind->sink = std::make_unique<Cache>(row_of, std::move(handlers));
  ReflectorOptions options;
  options.watch_list = watch_list_;
  options.on_trouble = [what = selection.resource.plural](const Error& error) {
    log::warn("following " + what + " for metrics: " + error.to_string());
  };
  options.selection = std::move(selection);
  kind->reflector = std::make_unique<Reflector>(client_, std::move(options), *kind->sink);
  kinds_.push_back(std::move(kind));
}

ClusterFeed::ClusterFeed(ApiClient& client, bool watch_list) : client_(client), watch_list_(watch_list) {
  Selection nodes;
  nodes.resource = resources::nodes();
  follow(std::move(nodes), node_row, &ClusterRows::nodes);
  Selection pods;
  pods.resource = resources::pods();
  pods.label_selector = std::string(names::kManagedLabel) + "=true";
  follow(std::move(pods), pod_row, &ClusterRows::pods);
  Selection tenants;
  tenants.resource = {std::string(names::kGroup), std::string(names::kVersion), "tenants", false, "Tenant"};
  follow(std::move(tenants), tenant_row, &ClusterRows::tenants);
  for (const std::unique_ptr<Kind>& kind : kinds_) {
    kind->thread = std::thread([this, reflector = kind->reflector.get()] { reflector->run(stop_); });
  }
}

ClusterFeed::~ClusterFeed() {
  stop_.raise();
  for (const std::unique_ptr<Kind>& kind : kinds_) kind->thread.join();
}

void ClusterFeed::read(const std::function<void(const ClusterRows&)>& reader) const {
  const std::lock_guard lock(mutex_);
  reader(rows_);
}

}  // namespace tangram::kube::metrics

// Follows what metrics say of a cluster: nodes, Pods with NPUs, Tenants. Each kind has a reflector with a
// thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kube/api/client.h"
#include "kube/api/reflector.h"
#include "kube/metrics/cluster_rows.h"
#include "net/interrupt.h"

namespace tangram::kube::metrics {

class ClusterFeed {
 public:
  // `client` must outlive it. Begins at once.
  explicit ClusterFeed(ApiClient& client, bool watch_list = true);
  ~ClusterFeed();  // waits for its threads
  ClusterFeed(const ClusterFeed&) = delete;
  ClusterFeed& operator=(const ClusterFeed&) = delete;

  // All that there was has been read.
  bool ready() const { return kinds_read_ == kKinds; }
  // Under the lock that changes wait for.
  void read(const std::function<void(const ClusterRows&)>& reader) const;

 private:
  struct Kind;
  static constexpr int kKinds = 3;

  template <class Row>
  void follow(Selection selection, std::optional<Row> (*row_of)(const json::object&),
              std::map<std::string, Row> ClusterRows::* rows);

  ApiClient& client_;
  const bool watch_list_;
  net::Interrupt stop_;
  std::atomic<int> kinds_read_ = 0;
  mutable std::mutex mutex_;
  ClusterRows rows_;
  std::vector<std::unique_ptr<Kind>> kinds_;
};

}  // namespace tangram::kube::metrics

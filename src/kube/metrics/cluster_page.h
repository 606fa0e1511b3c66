// Puts what is known of a cluster on a page of metrics. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/metrics/cluster_rows.h"
#include "kube/metrics/page.h"

namespace tangram::kube::metrics {

// One line of a namespace's ResourceQuota.
struct QuotaLimit {
  std::string space;
  std::string name;  // "huawei.com/Ascend310P-memory"
  std::int64_t hard_mib = 0;
};

void add_cluster(const ClusterRows& rows, const std::vector<QuotaLimit>& quotas, Page& page);

}  // namespace tangram::kube::metrics

// How many requests were answered how.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "service/metric_families.h"

namespace tangram::server {

// Thread-safe. Holds one number for each pair that ever occurred: calls of the table times statuses.
class RequestMeter {
 public:
  // `operation`: of the table of calls, or "unknown"; must live for ever.
  void count(std::string_view operation, int status);
  void add_metrics(service::MetricFamilies& families) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string_view, int>, std::uint64_t> counts_;
};

}  // namespace tangram::server

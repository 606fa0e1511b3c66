#include "server/request_meter.h"

#include <string>

namespace tangram::server {

void RequestMeter::count(std::string_view operation, int status) {
  const std::lock_guard lock(mutex_);
  ++counts_[{operation, status}];
}

void RequestMeter::add_metrics(service::MetricFamilies& families) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, count] : counts_) {
    families.add(wire::Metric::kHttpRequests, static_cast<double>(count),
                 {key.first, std::to_string(key.second)});
  }
}

}  // namespace tangram::server

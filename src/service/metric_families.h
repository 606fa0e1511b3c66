// The families of one scrape, in the making: names, types and labels come from the table of wire.
#pragma once

#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "wire/metric_table.h"

namespace tangram::service {

// Not thread-safe.
class MetricFamilies {
 public:
  // `labels`: values in the order of the table, as many as it has.
  void add(wire::Metric metric, double value, std::initializer_list<std::string> labels = {});
  // Nothing when it is not known.
  void add(wire::Metric metric, std::optional<double> value, std::initializer_list<std::string> labels);
  void add(wire::Metric metric, const prometheus::Histogram& histogram);

  // Those that have a sample, in the order of the table.
  std::vector<prometheus::MetricFamily> take();

 private:
  prometheus::ClientMetric& sample(wire::Metric metric, std::initializer_list<std::string> labels);

  std::array<std::vector<prometheus::ClientMetric>, wire::kMetricCount> samples_;
};

}  // namespace tangram::service

// The page of one scrape, in the making: names, types and labels come from the table.
#pragma once

#include <prometheus/histogram.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "kube/metrics/metric_table.h"

namespace tangram::kube::metrics {

// Not thread-safe.
class Page {
 public:
  // `labels`: values in the order of the table, as many as it has.
  void add(Metric metric, double value, std::initializer_list<std::string_view> labels = {});
  // Nothing when it is not known.
  void add(Metric metric, std::optional<double> value, std::initializer_list<std::string_view> labels);
  void add(Metric metric, const prometheus::Histogram& histogram,
           std::initializer_list<std::string_view> labels);

  // Those that have a sample, in the order of the table, in the text format of Prometheus (0.0.4).
  std::string text() const;

 private:
  std::array<std::string, kMetricCount> samples_;
};

}  // namespace tangram::kube::metrics

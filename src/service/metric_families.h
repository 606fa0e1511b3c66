// The page of one scrape, in the making: names, types and labels come from the table of wire.
//
// Samples are written as text at once. A page has some 17,000 of them, and as objects of their own, with
// their labels, they cost ten times as much as the text does.
#pragma once

#include <prometheus/histogram.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "wire/metric_table.h"

namespace tangram::service {

// Not thread-safe.
class MetricFamilies {
 public:
  // `labels`: values in the order of the table, as many as it has.
  void add(wire::Metric metric, double value, std::initializer_list<std::string_view> labels = {});
  // Nothing when it is not known.
  void add(wire::Metric metric, std::optional<double> value, std::initializer_list<std::string_view> labels);
  void add(wire::Metric metric, const prometheus::Histogram& histogram);

  // Those that have a sample, in the order of the table, in the text format of Prometheus (0.0.4).
  std::string text() const;

 private:
  std::array<std::string, wire::kMetricCount> samples_;
};

}  // namespace tangram::service

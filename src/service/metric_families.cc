#include "service/metric_families.h"

#include <utility>

#include "base/invariant.h"

namespace tangram::service {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

prometheus::MetricType type_of(wire::MetricType type) {
  switch (type) {
    case wire::MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case wire::MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case wire::MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

ClientMetric& MetricFamilies::sample(wire::Metric metric, std::initializer_list<std::string> labels) {
  ClientMetric& sample = samples_[static_cast<std::size_t>(metric)].emplace_back();
  const wire::MetricInfo& about = wire::info(metric);
  std::size_t at = 0;
  for (const std::string& value : labels) {
    TG_ASSERT(at < about.labels.size() && !about.labels[at].empty(), "more labels than the table has");
    sample.label.push_back({std::string(about.labels[at++]), value});
  }
  TG_ASSERT(at == about.labels.size() || about.labels[at].empty(), "fewer labels than the table has");
  return sample;
}

void MetricFamilies::add(wire::Metric metric, double value, std::initializer_list<std::string> labels) {
  ClientMetric& made = sample(metric, labels);
  switch (wire::info(metric).type) {
    case wire::MetricType::kGauge:
      made.gauge.value = value;
      break;
    case wire::MetricType::kCounter:
      made.counter.value = value;
      break;
    case wire::MetricType::kHistogram:
      TG_ASSERT(false, "a histogram is no single value");
  }
}

void MetricFamilies::add(wire::Metric metric, std::optional<double> value,
                         std::initializer_list<std::string> labels) {
  if (value) add(metric, *value, labels);
}

void MetricFamilies::add(wire::Metric metric, const prometheus::Histogram& histogram) {
  TG_ASSERT(wire::info(metric).type == wire::MetricType::kHistogram, "the table says another type");
  sample(metric, {}).histogram = histogram.Collect().histogram;
}

std::vector<MetricFamily> MetricFamilies::take() {
  std::vector<MetricFamily> families;
  for (const wire::MetricInfo& about : wire::metrics()) {
    auto& samples = samples_[static_cast<std::size_t>(about.metric)];
    if (samples.empty()) continue;
    families.push_back(
        {std::string(about.name), std::string(about.help), type_of(about.type), std::move(samples)});
  }
  return families;
}

}  // namespace tangram::service

#include "service/metric_families.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/invariant.h"

namespace tangram::service {
namespace {

std::string_view type_of(wire::MetricType type) {
  switch (type) {
    case wire::MetricType::kGauge:
      return "gauge";
    case wire::MetricType::kCounter:
      return "counter";
    case wire::MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
  }
}

// Tenants' names need no escape; those of nodes, chips and drivers are what others gave.
void append_escaped(std::string& out, std::string_view text) {
  if (text.find_first_of("\\\"\n") == std::string_view::npos) {
    out += text;
    return;
  }
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix, double value) {
  out += name;
  out += suffix;
  out += ' ';
  append_number(out, value);
  out += '\n';
}

}  // namespace

void MetricFamilies::add(wire::Metric metric, double value, std::initializer_list<std::string_view> labels) {
  const wire::MetricInfo& about = wire::info(metric);
  TG_ASSERT(about.type != wire::MetricType::kHistogram, "a histogram is no single value");
  std::string& out = samples_[static_cast<std::size_t>(metric)];
  out += about.name;
  std::size_t at = 0;
  for (const std::string_view label : labels) {
    TG_ASSERT(at < about.labels.size() && !about.labels[at].empty(), "more labels than the table has");
    out += at == 0 ? '{' : ',';
    out += about.labels[at++];
    out += "=\"";
    append_escaped(out, label);
    out += '"';
  }
  TG_ASSERT(at == about.labels.size() || about.labels[at].empty(), "fewer labels than the table has");
  append_sample(out, {}, at == 0 ? std::string_view() : "}", value);
}

void MetricFamilies::add(wire::Metric metric, std::optional<double> value,
                         std::initializer_list<std::string_view> labels) {
  if (value) add(metric, *value, labels);
}

void MetricFamilies::add(wire::Metric metric, const prometheus::Histogram& histogram) {
  const wire::MetricInfo& about = wire::info(metric);
  TG_ASSERT(about.type == wire::MetricType::kHistogram, "the table says another type");
  std::string& out = samples_[static_cast<std::size_t>(metric)];
  const prometheus::ClientMetric::Histogram taken = histogram.Collect().histogram;
  for (const auto& bucket : taken.bucket) {
    std::string bound = "_bucket{le=\"";
    append_number(bound, bucket.upper_bound);
    append_sample(out, about.name, bound + "\"}", static_cast<double>(bucket.cumulative_count));
  }
  append_sample(out, about.name, "_sum", taken.sample_sum);
  append_sample(out, about.name, "_count", static_cast<double>(taken.sample_count));
}

std::string MetricFamilies::text() const {
  std::string out;
  std::size_t size = 0;
  for (const std::string& samples : samples_) size += samples.size() + (samples.empty() ? 0 : 512);
  out.reserve(size);
  for (const wire::MetricInfo& about : wire::metrics()) {
    const std::string& samples = samples_[static_cast<std::size_t>(about.metric)];
    if (samples.empty()) continue;
    // The table's texts are one line without a backslash: nothing to escape.
    for (const std::string_view part :
         {std::string_view("# HELP "), about.name, std::string_view(" "), about.help,
          std::string_view("\n# TYPE "), about.name, std::string_view(" "), type_of(about.type),
          std::string_view("\n"), std::string_view(samples)}) {
      out += part;
    }
  }
  return out;
}

}  // namespace tangram::service

#include "kube/metrics/page.h"

#include <charconv>
#include <cmath>

#include "base/invariant.h"

namespace tangram::kube::metrics {
namespace {

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

void append_label(std::string& out, std::string_view name, std::string_view text) {
  out += name;
  out += "=\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  out += '"';
}

// `{a="b",zone="vGPU"`, without its end; empty when there are none.
std::string label_text(const MetricInfo& about, std::initializer_list<std::string_view> labels) {
  std::string text;
  std::size_t at = 0;
  for (const std::string_view label : labels) {
    TG_ASSERT(at < about.labels.size() && !about.labels[at].empty(), "more labels than the table has");
    text += at == 0 ? '{' : ',';
    append_label(text, about.labels[at++], label);
  }
  TG_ASSERT(at == about.labels.size() || about.labels[at].empty(), "fewer labels than the table has");
  if (has_zone(about)) {
    text += at == 0 ? '{' : ',';
    append_label(text, "zone", "vGPU");
  }
  return text;
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                   double value) {
  out += name;
  out += suffix;
  out += labels;
  out += labels.empty() ? " " : "} ";
  append_number(out, value);
  out += '\n';
}

}  // namespace

void Page::add(Metric metric, double value, std::initializer_list<std::string_view> labels) {
  const MetricInfo& about = info(metric);
  TG_ASSERT(about.type != MetricType::kHistogram, "a histogram is no single value");
  append_sample(samples_[static_cast<std::size_t>(metric)], about.name, {}, label_text(about, labels), value);
}

void Page::add(Metric metric, std::optional<double> value, std::initializer_list<std::string_view> labels) {
  if (value) add(metric, *value, labels);
}

void Page::add(Metric metric, const prometheus::Histogram& histogram,
               std::initializer_list<std::string_view> labels) {
  const MetricInfo& about = info(metric);
  TG_ASSERT(about.type == MetricType::kHistogram, "the table says another type");
  std::string& out = samples_[static_cast<std::size_t>(metric)];
  const std::string text = label_text(about, labels);
  const prometheus::ClientMetric::Histogram taken = histogram.Collect().histogram;
  for (const auto& bucket : taken.bucket) {
    std::string bound = text + (text.empty() ? "{le=\"" : ",le=\"");
    append_number(bound, bucket.upper_bound);
    bound += '"';
    append_sample(out, about.name, "_bucket", bound, static_cast<double>(bucket.cumulative_count));
  }
  append_sample(out, about.name, "_sum", text, taken.sample_sum);
  append_sample(out, about.name, "_count", text, static_cast<double>(taken.sample_count));
}

std::string Page::text() const {
  std::string out;
  for (const MetricInfo& about : metrics()) {
    const std::string& samples = samples_[static_cast<std::size_t>(about.metric)];
    if (samples.empty()) continue;
    // The table's texts are one line without a backslash: nothing to escape.
    for (const std::string_view part :
         {std::string_view("# HELP "), about.name, std::string_view(" "), about.help,
          std::string_view("\n# TYPE "), about.name, std::string_view(" "), to_string(about.type),
          std::string_view("\n"), std::string_view(samples)}) {
      out += part;
    }
  }
  return out;
}

}  // namespace tangram::kube::metrics

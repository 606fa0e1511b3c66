// The names of metrics, and the page that is made of them.
#include "wire/metric_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace tangram::wire {
namespace {

constexpr std::string_view kBegin = "<!-- metrics: made from src/wire/metric_table.cc, do not edit -->\n";
constexpr std::string_view kEnd = "<!-- end of metrics -->\n";

std::string type_name(MetricType type) {
  switch (type) {
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kCounter:
      return "counter";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "";
}

std::string made_from_table() {
  std::string text = "\n| metric | type | labels | |\n|---|---|---|---|\n";
  for (const MetricInfo& metric : metrics()) {
    std::string labels;
    for (const std::string_view label : metric.labels) {
      if (!label.empty()) labels += (labels.empty() ? "`" : ", `") + std::string(label) + "`";
    }
    text += "| `" + std::string(metric.name) + "` | " + type_name(metric.type) + " | " + labels + " | " +
            std::string(metric.help) + " |\n";
  }
  return text + '\n';
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Without it docs/metrics.md would list metrics that are not there, and miss those that are.
// TANGRAM_UPDATE_DOCS=1 writes the table anew.
TEST(MetricTable, PageIsUpToDate) {
  const std::filesystem::path path = std::filesystem::path(TANGRAM_SOURCE_DIR) / "docs" / "metrics.md";
  const std::string page = read_file(path);
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << "docs/metrics.md has lost the line " << kBegin;
  ASSERT_NE(end, std::string::npos) << "docs/metrics.md has lost the line " << kEnd;
  const std::size_t first = begin + kBegin.size();
  const std::string wanted = made_from_table();
  if (std::getenv("TANGRAM_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << page.substr(0, first) << wanted << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(first, end - first), wanted)
      << "docs/metrics.md is stale: run TANGRAM_UPDATE_DOCS=1 test_wire --gtest_filter='MetricTable.*'";
}

// Without it a name could break the conventions by which dashboards and alerts find metrics.
TEST(MetricTable, NamesKeepTheConventions) {
  const std::regex form("(tangram|process)_[a-z][a-z0-9]*(_[a-z0-9]+)*");
  std::set<std::string_view> names;
  for (const MetricInfo& metric : metrics()) {
    const std::string name(metric.name);
    EXPECT_TRUE(names.insert(metric.name).second) << name;
    EXPECT_TRUE(std::regex_match(name, form)) << name;
    EXPECT_EQ(name.ends_with("_total"), metric.type == MetricType::kCounter) << name;
    EXPECT_EQ(metric.type == MetricType::kHistogram, !metric.buckets.empty()) << name;
    EXPECT_TRUE(std::is_sorted(metric.buckets.begin(), metric.buckets.end())) << name;
    EXPECT_TRUE(metric.help.ends_with('.')) << name;
    // A Prometheus gives each series a label "job" of its own.
    EXPECT_EQ(std::count(metric.labels.begin(), metric.labels.end(), "job"), 0) << name;
  }
}

}  // namespace
}  // namespace tangram::wire

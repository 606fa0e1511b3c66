// The names of metrics, and the page that is made of them.
#include "kube/metrics/metric_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace tangram::kube::metrics {
namespace {

constexpr std::string_view kBegin =
    "<!-- metrics: made from src/kube/metrics/metric_table.cc, do not edit -->\n";
constexpr std::string_view kEnd = "<!-- end of metrics -->\n";

std::string made_from_table() {
  std::string text = "\n| metric | type | labels | |\n|---|---|---|---|\n";
  for (const MetricInfo& metric : metrics()) {
    std::string labels;
    for (const std::string_view label : metric.labels) {
      if (!label.empty()) labels += (labels.empty() ? "`" : ", `") + std::string(label) + "`";
    }
    text += "| `" + std::string(metric.name) + "` | " + std::string(to_string(metric.type)) + " | " + labels +
            " | " + std::string(metric.help) + " |\n";
  }
  return text + '\n';
}

// Without it docs/kubernetes-metrics.md would list metrics that are not there, and miss those that are.
// TANGRAM_UPDATE_DOCS=1 writes the table anew.
TEST(MetricTable, PageIsUpToDate) {
  const auto path = std::filesystem::path(TANGRAM_SOURCE_DIR) / "docs" / "kubernetes-metrics.md";
  const std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  const std::string page = all.str();
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << "the page has lost the line " << kBegin;
  ASSERT_NE(end, std::string::npos) << "the page has lost the line " << kEnd;
  const std::size_t first = begin + kBegin.size();
  const std::string wanted = made_from_table();
  if (std::getenv("TANGRAM_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << page.substr(0, first) << wanted << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(first, end - first), wanted)
      << "stale: run TANGRAM_UPDATE_DOCS=1 test_kube_metrics --gtest_filter='MetricTable.*'";
}

// Without it a name could break the conventions by which dashboards and alerts find metrics, or a row stand
// at another's place.
TEST(MetricTable, NamesKeepTheConventions) {
  const std::regex form("(tangram|hami)_[a-z][a-z0-9]*(_[a-z0-9]+)*");
  std::set<std::string_view> names;
  for (const MetricInfo& metric : metrics()) {
    const std::string name(metric.name);
    EXPECT_EQ(&info(metric.metric), &metric) << name;
    EXPECT_TRUE(names.insert(metric.name).second) << name;
    EXPECT_TRUE(std::regex_match(name, form)) << name;
    EXPECT_EQ(name.ends_with("_total"), metric.type == MetricType::kCounter) << name;
    EXPECT_TRUE(metric.help.ends_with('.')) << name;
    EXPECT_EQ(metric.help.find_first_of("\\\n"), std::string_view::npos) << name;
    // A Prometheus gives each series labels "job" and "instance" of its own.
    for (const char* label : {"job", "instance"}) {
      EXPECT_EQ(std::count(metric.labels.begin(), metric.labels.end(), label), 0) << name;
    }
  }
}

}  // namespace
}  // namespace tangram::kube::metrics

#include "kube/metrics/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "kube/metrics/extender_meters.h"

namespace tangram::kube::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Without this, Prometheus could not read the page, or a name that somebody chose would break it.
TEST(Page, IsInTheFormatOfPrometheus) {
  Page page;
  page.add(Metric::kLeader, 1);
  page.add(Metric::kNpuHealthy, 0, {"a\"b\\c\nd", "0"});
  page.add(Metric::kHamiQuotaLimit, 0.5, {"s", "q"});
  page.add(Metric::kTenantNpusLimit, std::optional<double>(), {"nobody"});
  EXPECT_THAT(page.text(), HasSubstr("\ntangram_npu_healthy{node=\"a\\\"b\\\\c\\nd\",npu=\"0\"} 0\n"));
  EXPECT_THAT(page.text(), HasSubstr("\nhami_resource_quota_limit{namespace=\"s\",quota_name=\"q\","
                                     "zone=\"vGPU\"} 0.5\n"));
  EXPECT_THAT(page.text(), HasSubstr("# TYPE tangram_manager_leader gauge\ntangram_manager_leader 1\n"));
  EXPECT_THAT(page.text(), Not(HasSubstr("tangram_tenant")));
}

// Without this, nobody could tell how long the scheduler waits for an answer, or how often it hears no.
TEST(Page, TheExtenderIsMeasured) {
  ExtenderMeters meters;
  meters.count(Verb::kFilter, CallOutcome::kOk, std::chrono::microseconds(300));
  meters.count(Verb::kFilter, CallOutcome::kRefused, std::chrono::milliseconds(3));
  meters.count(Verb::kBind, CallOutcome::kFailed, std::chrono::seconds(100));
  Page page;
  meters.add_to(page);
  const std::string text = page.text();
  for (const char* line : {"tangram_extender_requests_total{verb=\"filter\",outcome=\"ok\"} 1\n",
                           "tangram_extender_requests_total{verb=\"filter\",outcome=\"refused\"} 1\n",
                           "tangram_extender_requests_total{verb=\"bind\",outcome=\"failed\"} 1\n",
                           "tangram_extender_requests_total{verb=\"prioritize\",outcome=\"ok\"} 0\n",
                           "# TYPE tangram_extender_duration_seconds histogram\n",
                           "tangram_extender_duration_seconds_bucket{verb=\"filter\",le=\"0.00025\"} 0\n",
                           "tangram_extender_duration_seconds_bucket{verb=\"filter\",le=\"5e-04\"} 1\n",
                           "tangram_extender_duration_seconds_bucket{verb=\"filter\",le=\"0.005\"} 2\n",
                           "tangram_extender_duration_seconds_bucket{verb=\"bind\",le=\"30\"} 0\n",
                           "tangram_extender_duration_seconds_bucket{verb=\"bind\",le=\"+Inf\"} 1\n",
                           "tangram_extender_duration_seconds_count{verb=\"filter\"} 2\n",
                           "tangram_extender_duration_seconds_sum{verb=\"bind\"} 100\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace tangram::kube::metrics

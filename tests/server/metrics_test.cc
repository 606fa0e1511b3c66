// /metrics and the OpenAPI document on the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/harness.h"
#include "server/route.h"

namespace tangram::server::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MetricsApiTest : public ::testing::Test {
 protected:
  Api api;
};

// Without this, a Prometheus would find nothing, or what it cannot read.
TEST_F(MetricsApiTest, AreToldInTheFormatOfPrometheus) {
  const auto response = api.get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response.body, HasSubstr("# TYPE tangram_journal_sync_duration_seconds histogram\n"));
  EXPECT_THAT(response.body, HasSubstr("\ntangram_tenant_npus_limit{tenant=\"team-a\"} 2\n"));
}

// Without this, a tenant would learn who the others are and how busy they are.
TEST_F(MetricsApiTest, AreNotForTenants) {
  const auto response = api.get("/metrics", kTeamA);
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(response.body, Not(HasSubstr("team-b")));
  EXPECT_EQ(api.get("/metrics", kStranger).status, 401);
}

// Without this, refused and failing requests would not be seen, or each path would make a series.
TEST_F(MetricsApiTest, CountRequestsByCallAndStatus) {
  api.get("/v1/jobs/j-77");
  api.get("/v1/jobs/j-78");
  api.get("/v1/nothing/to/see");
  api.get("/v1/status", kStranger);
  api.post("/v1/jobs", kJobOfTeamA);
  const std::string text = api.get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("tangram_http_requests_total{operation=\"getJob\",code=\"404\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tangram_http_requests_total{operation=\"unknown\",code=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tangram_http_requests_total{operation=\"getStatus\",code=\"401\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tangram_http_requests_total{operation=\"submitJobs\",code=\"201\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("j-77")));
}

// Without this, a stream would be counted when it ends, or never.
TEST_F(MetricsApiTest, CountStreamsByTheirHead) {
  const auto job = wire::read_job_view(api.post("/v1/jobs", kJobOfTeamA).body);
  ASSERT_TRUE(job);
  EXPECT_EQ(api.get("/v1/jobs/" + job->id + "/logs").status, 200);
  EXPECT_THAT(api.get("/metrics").body,
              HasSubstr("tangram_http_requests_total{operation=\"readLog\",code=\"200\"} 1\n"));
}

// Without this, a call could be offered that the document does not tell.
TEST_F(MetricsApiTest, OpenapiIsForAnyoneAndHasEveryCall) {
  const auto response = api.get("/v1/openapi.json", kStranger);
  EXPECT_EQ(response.status, 200);
  for (const Route& route : routes()) {
    EXPECT_THAT(response.body, HasSubstr("\"" + std::string(route.operation.path) + "\":"));
    EXPECT_THAT(response.body, HasSubstr("\"operationId\":\"" + std::string(route.operation.id) + "\""));
  }
}

// Without this, a placeholder could have no description, and a tool would refuse the whole document.
TEST(RouteTable, DescribesEachPlaceholderAndStatus) {
  for (const Route& route : routes()) {
    const wire::Operation& operation = route.operation;
    const auto placeholders = std::count(operation.path.begin(), operation.path.end(), '{');
    EXPECT_EQ(static_cast<std::ptrdiff_t>(operation.path_parameters.size()), placeholders) << operation.path;
    for (const wire::Parameter& parameter : operation.path_parameters) {
      EXPECT_THAT(std::string(operation.path), HasSubstr("{" + std::string(parameter.name) + "}"));
    }
    EXPECT_FALSE(operation.answers.empty()) << operation.path;
    EXPECT_FALSE(operation.summary.empty()) << operation.path;
    EXPECT_NE(route.call, nullptr) << operation.path;
  }
}

}  // namespace
}  // namespace tangram::server::testing

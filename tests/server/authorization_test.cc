// Who may do what, as the last column of docs/api.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/harness.h"

namespace tangram::server::testing {
namespace {

struct Row {
  net::Method method;
  const char* path;
  const char* body;
  int by_operator;
  int by_own;       // team-a
  int by_foreign;   // team-b
  int by_stranger;  // no tenant at all
};

class Authorization : public ::testing::TestWithParam<Row> {};

// Without this, a tenant could reach another's jobs, or a stranger anything.
TEST_P(Authorization, IsThatOfTheContract) {
  const Row& row = GetParam();
  const std::vector<std::pair<std::uint32_t, int>> callers{
      {kStranger, row.by_stranger}, {kTeamB, row.by_foreign}, {kTeamA, row.by_own}, {0, row.by_operator}};
  for (const auto& [uid, status] : callers) {
    Api api;
    ASSERT_EQ(api.post("/v1/jobs", R"({"tenant":"team-a","npus":1,"name":"train","command":["/x"]})").status,
              201);
    const auto response = api.send(api.request(row.method, row.path, row.body, uid));
    EXPECT_EQ(response.status, status) << "uid " << uid << ": " << response.body;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, Authorization,
    ::testing::Values(Row{net::Method::kGet, "/v1/version", "", 200, 200, 200, 200},
                      Row{net::Method::kGet, "/v1/status", "", 200, 200, 200, 401},
                      Row{net::Method::kPost, "/v1/apply",
                          "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: x}\nspec: {}\n", 200,
                          403, 403, 401},
                      Row{net::Method::kGet, "/v1/tenants", "", 200, 200, 200, 401},
                      Row{net::Method::kGet, "/v1/tenants/team-a", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/tenants/team-a-child", "", 200, 200, 404, 401},
                      Row{net::Method::kDelete, "/v1/tenants/team-a-child", "", 204, 403, 403, 401},
                      Row{net::Method::kPost, "/v1/jobs", R"({"tenant":"team-a","npus":1,"command":["/x"]})",
                          201, 201, 403, 401},
                      Row{net::Method::kGet, "/v1/jobs", "", 200, 200, 200, 401},
                      Row{net::Method::kGet, "/v1/jobs/j-1", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/jobs/team-a%2Ftrain", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/jobs/train", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/jobs/j-1/why", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/jobs/j-1/wait?timeout=1ms", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/jobs/j-1/logs", "", 200, 200, 404, 401},
                      Row{net::Method::kPost, "/v1/jobs/j-1/cancel", "", 202, 202, 404, 401},
                      Row{net::Method::kGet, "/v1/history", "", 200, 200, 200, 401},
                      Row{net::Method::kGet, "/v1/history?tenant=team-a", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/history?job=train", "", 200, 200, 404, 401},
                      Row{net::Method::kGet, "/v1/history?npu=0", "", 200, 200, 200, 401},
                      Row{net::Method::kGet, "/v1/events?tenant=team-a&after=x", "", 400, 400, 400, 401},
                      Row{net::Method::kGet, "/v1/events?tenant=nobody", "", 404, 404, 404, 401},
                      Row{net::Method::kGet, "/v1/nothing", "", 404, 404, 404, 401}));

// Without this, a tenant would have to say its own name, or could say another's.
TEST(Authorization, ATenantSubmitsForItself) {
  Api api;
  const auto own = api.post("/v1/jobs", R"({"npus":1,"command":["/x"]})", kTeamB);
  ASSERT_EQ(own.status, 201) << own.body;
  EXPECT_EQ(wire::read_job_view(own.body)->tenant, "team-b");
  const auto foreign = api.post("/v1/jobs", R"({"tenant":"team-a","npus":1,"command":["/x"]})", kTeamB);
  const auto unknown = api.post("/v1/jobs", R"({"tenant":"nobody","npus":1,"command":["/x"]})", kTeamB);
  EXPECT_EQ(foreign.status, unknown.status);
  EXPECT_EQ(Api::reason(foreign), Api::reason(unknown));
}

// Without this, the arguments of a foreign job would show in a listing or in the status.
TEST(Authorization, ListingsHideForeignJobs) {
  Api api;
  api.post("/v1/jobs", R"({"tenant":"team-a","npus":1,"name":"secret-plan","command":["/x","--key=abc"]})");
  for (const std::string path : {"/v1/jobs?all=true", "/v1/status", "/v1/tenants"}) {
    const auto seen = api.get(path, kTeamB);
    EXPECT_EQ(seen.status, 200);
    EXPECT_THAT(seen.body, ::testing::Not(::testing::HasSubstr("secret-plan"))) << path;
    EXPECT_THAT(seen.body, ::testing::Not(::testing::HasSubstr("--key"))) << path;
  }
}

}  // namespace
}  // namespace tangram::server::testing

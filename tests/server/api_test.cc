// The contract of docs/api.md on the wire.
#include "server/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "server/harness.h"
#include "server/route.h"

#ifndef TANGRAM_SOURCE_DIR
#error "the build says where docs/api.md is"
#endif

namespace tangram::server::testing {
namespace {

using ::testing::HasSubstr;

// "GET /v1/jobs/{job}" for every call that docs/api.md has in its table.
std::set<std::string> documented_calls() {
  std::ifstream file(std::string(TANGRAM_SOURCE_DIR) + "/docs/api.md");
  std::set<std::string> calls;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
      const std::size_t end = cell.find('`', at + 1);
      const std::string call = cell.substr(at + 1, end - at - 1);
      at = end;
      // Tables of fields have no method in front.
      if (!call.starts_with("GET /") && !call.starts_with("POST /") && !call.starts_with("PUT /") &&
          !call.starts_with("DELETE /"))
        continue;
      calls.insert(call.substr(0, call.find('?')));
    }
  }
  return calls;
}

// Without this, the contract's page and the daemon would drift apart.
TEST(Routes, AreThoseOfTheContract) {
  std::set<std::string> offered;
  for (const Route& route : routes()) {
    offered.insert(std::string(net::to_string(route.method)) + " " + std::string(route.operation.path));
  }
  EXPECT_EQ(offered, documented_calls());
}

class ApiTest : public ::testing::Test {
 protected:
  Api api;
};

// Without this, the life of a job could not be followed over the API.
TEST_F(ApiTest, FollowsAJobFromSubmitToItsEnd) {
  const auto submitted = api.post("/v1/jobs", kJobOfTeamA);
  ASSERT_EQ(submitted.status, 201) << submitted.body;
  EXPECT_EQ(submitted.headers.get("Content-Type"), "application/json");
  const auto job = wire::read_job_view(submitted.body);
  ASSERT_TRUE(job) << submitted.body;
  ASSERT_TRUE(api.machine.reaches(job->id, JobState::kRunning));
  EXPECT_EQ(api.get("/v1/jobs/" + job->id).status, 200);
  EXPECT_EQ(api.get("/v1/jobs/team-a%2F" + job->name).status, 200);
  EXPECT_EQ(api.get("/v1/jobs/" + job->id + "/why").status, 200);
  EXPECT_EQ(api.get("/v1/status").status, 200);
  const auto waiting = wire::read_job_view(api.get("/v1/jobs/" + job->id + "/wait?timeout=10ms").body);
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->state, JobState::kRunning);
  const auto cancelled = api.post("/v1/jobs/" + job->id + "/cancel");
  EXPECT_EQ(cancelled.status, 202);
  const auto ended = wire::read_job_view(api.get("/v1/jobs/" + job->id + "/wait?timeout=20s").body);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->outcome, Outcome::kCancelled);
  EXPECT_EQ(api.post("/v1/jobs/" + job->id + "/cancel").status, 409);
}

// Without this, what is said of one NPU beside a slice would be right in a job and wrong in the question.
TEST_F(ApiTest, ASliceOfOneNpuIsOneNpuEverywhere) {
  for (const auto& [npus, taken] : {std::pair{"1", true}, std::pair{"2", false}}) {
    const std::string number = npus;
    const auto fit = api.get("/v1/fit?tenant=team-a&sliceMemory=1GiB&npus=" + number);
    const auto job = api.post("/v1/jobs", R"({"tenant":"team-a","slice":{"memory":"1GiB"},"npus":)" + number +
                                              R"(,"command":["/bin/true"]})");
    EXPECT_EQ(fit.status == 400, !taken) << fit.body;
    EXPECT_EQ(job.status == 400, !taken) << job.body;
  }
}

// Without this, tenants could not be managed over the API.
TEST_F(ApiTest, ManagesTenants) {
  auto request =
      api.request(net::Method::kPost, "/v1/apply",
                  "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-c}\nspec: {}\n");
  request.headers.set("Content-Type", "application/yaml");
  const auto applied = api.send(request);
  ASSERT_EQ(applied.status, 200) << applied.body;
  EXPECT_THAT(applied.body, HasSubstr("created"));
  EXPECT_EQ(api.get("/v1/tenants/team-c").status, 200);
  const auto tenants = wire::read_quota_list(api.get("/v1/tenants").body);
  ASSERT_TRUE(tenants);
  EXPECT_EQ(tenants->items.size(), 4U);
  EXPECT_EQ(api.send(api.request(net::Method::kDelete, "/v1/tenants/team-c")).status, 204);
  EXPECT_EQ(api.get("/v1/tenants/team-c").status, 404);
  api.post("/v1/jobs", kJobOfTeamA);
  const auto busy = api.send(api.request(net::Method::kDelete, "/v1/tenants/team-a"));
  EXPECT_EQ(busy.status, 409);
  EXPECT_EQ(Api::reason(busy), "tenant.busy");
}

struct BadCall {
  net::Method method;
  const char* path;
  const char* body;
  int status;
  const char* reason;
};

class BadInput : public ApiTest, public ::testing::WithParamInterface<BadCall> {};

// Without this, a wrong request would change something or be answered in a way that no client understands.
TEST_P(BadInput, HasItsStatusAndReasonAndChangesNothing) {
  const std::size_t before = api.machine.store.records().size();
  const BadCall& call = GetParam();
  const auto response = api.send(api.request(call.method, call.path, call.body));
  EXPECT_EQ(response.status, call.status) << response.body;
  EXPECT_EQ(Api::reason(response), call.reason) << response.body;
  EXPECT_EQ(response.headers.get("Content-Type"), "application/problem+json");
  EXPECT_EQ(api.machine.store.records().size(), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadInput,
    ::testing::Values(
        BadCall{net::Method::kGet, "/", "", 404, "http.path.unknown"},
        BadCall{net::Method::kGet, "/v1/jobs/", "", 404, "http.path.unknown"},
        BadCall{net::Method::kGet, "/v1/nothing", "", 404, "http.path.unknown"},
        BadCall{net::Method::kPut, "/v1/jobs", "", 405, "http.method.unsupported"},
        BadCall{net::Method::kOther, "/v1/jobs", "", 405, "http.method.unsupported"},
        BadCall{net::Method::kGet, "/v1/jobs/j-99", "", 404, "job.unknown"},
        BadCall{net::Method::kGet, "/v1/jobs/j-99999999999999999999999", "", 404, "job.unknown"},
        BadCall{net::Method::kPost, "/v1/jobs/nobody/cancel", "", 404, "job.unknown"},
        BadCall{net::Method::kGet, "/v1/tenants/nobody", "", 404, "tenant.unknown"},
        BadCall{net::Method::kGet, "/v1/jobs?colour=red", "", 400, "input.unknown_field"},
        BadCall{net::Method::kGet, "/v1/jobs?limit=0", "", 400, "input.out_of_range"},
        BadCall{net::Method::kGet, "/v1/jobs?limit=x", "", 400, "input.bad_value"},
        BadCall{net::Method::kGet, "/v1/jobs?limit=1&limit=2", "", 400, "input.duplicate_key"},
        BadCall{net::Method::kGet, "/v1/jobs?label=x", "", 400, "input.bad_value"},
        BadCall{net::Method::kGet, "/v1/jobs?all=maybe", "", 400, "input.bad_value"},
        BadCall{net::Method::kGet, "/v1/jobs?after=x", "", 400, "input.bad_value"},
        BadCall{net::Method::kGet, "/v1/jobs?tenant=nobody", "", 404, "tenant.unknown"},
        BadCall{net::Method::kPost, "/v1/jobs", "", 400, "input.syntax"},
        BadCall{net::Method::kPost, "/v1/jobs", "{", 400, "input.syntax"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"npus":1,"command":["/x"]})", 400, "input.missing_field"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"tenant":"nobody","command":["/x"]})", 404,
                "tenant.unknown"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"tenant":"team-a","command":["/x"],"colour":1})", 400,
                "input.unknown_field"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"tenant":"team-a","command":["/x"],"npus":-1})", 400,
                "input.out_of_range"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"tenant":"team-a","command":["/x"],"npus":9})", 422,
                "capacity.npus.never"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"tenant":"team-a","command":["/x"],"npus":3})", 422,
                "quota.npus.above_limit"},
        BadCall{net::Method::kPost, "/v1/jobs",
                R"({"tenant":"team-a","command":["/x"],"slice":{"memory":"4GiB"}})", 422,
                "request.slice.unsupported"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"tenant":"team-a","command":["/x"],"slice":"vir04"})",
                400, "input.wrong_type"},
        BadCall{net::Method::kPost, "/v1/jobs", R"({"tenant":"team-a","command":["/x"],"name":"j-5"})", 400,
                "input.reserved"},
        BadCall{net::Method::kPost, "/v1/apply", "a: [", 400, "input.syntax"},
        BadCall{net::Method::kGet, "/v1/jobs/j-1/wait?timeout=2h", "", 400, "input.out_of_range"},
        BadCall{net::Method::kGet, "/v1/jobs/j-1/logs?offset=-1", "", 400, "input.out_of_range"}));

// Without it a monitor that asks with HEAD, as many do, would take the daemon for broken.
TEST_F(ApiTest, HeadIsGetWithoutTheBody) {
  for (const char* const path :
       {"/v1/version", "/v1/status", "/v1/jobs?limit=1", "/metrics", "/v1/jobs/j-99"}) {
    const auto get = api.get(path);
    const auto head = api.send(api.request(net::Method::kHead, path));
    EXPECT_EQ(head.status, get.status) << path;
    EXPECT_EQ(head.headers.get("Content-Type"), get.headers.get("Content-Type")) << path;
    EXPECT_TRUE(head.headers.get("Content-Length")) << path;
    EXPECT_TRUE(head.body.empty()) << head.body;
  }
  const auto refused = api.send(api.request(net::Method::kHead, "/v1/apply"));
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.get("Allow"), "POST");
  EXPECT_EQ(api.send(api.request(net::Method::kPut, "/v1/jobs")).headers.get("Allow"), "POST, GET, HEAD");
}

// Without it a body that was compressed would be called broken JSON.
TEST_F(ApiTest, ABodyIsReadAsItIs) {
  auto request = api.request(net::Method::kPost, "/v1/jobs", kJobOfTeamA);
  request.headers.set("Content-Encoding", "gzip");
  const auto refused = api.send(request);
  EXPECT_EQ(refused.status, 415);
  EXPECT_EQ(Api::reason(refused), "http.content_encoding.unsupported");
  EXPECT_THAT(refused.body, HasSubstr("Content-Encoding gzip"));
  request.headers.set("Content-Encoding", "Identity");
  EXPECT_EQ(api.send(request).status, 201);
}

// Without it a body in another charset would be called broken JSON, or be read as what it does not say.
TEST_F(ApiTest, ABodyIsReadAsUtf8) {
  auto request = api.request(net::Method::kPost, "/v1/jobs", kJobOfTeamA);
  for (const char* charset : {"utf-16", "\"UTF-16LE\"", "iso-8859-1", "", "utf-8; charset=utf-16"}) {
    request.headers.set("Content-Type", std::string("application/json; charset=") + charset);
    const auto refused = api.send(request);
    EXPECT_EQ(refused.status, 415) << charset;
    EXPECT_EQ(Api::reason(refused), "http.content_type.unsupported") << charset;
    EXPECT_THAT(refused.body, HasSubstr("send UTF-8")) << charset;
  }
  for (const char* charset : {"utf-8", "\"UTF-8\"", "us-ascii"}) {
    request.headers.set("Content-Type", std::string("application/json;charset=") + charset);
    EXPECT_EQ(api.send(request).status, 201) << charset;
  }
}

// Without this, a repeat over the wire would make a second job.
TEST_F(ApiTest, IdempotencyKeyIsAHeader) {
  auto request = api.request(net::Method::kPost, "/v1/jobs", kJobOfTeamA);
  request.headers.set("Idempotency-Key", "abc");
  const auto first = api.send(request);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(api.send(request).body, first.body);
  request.body = R"({"tenant":"team-b","npus":1,"command":["/bin/true"]})";
  EXPECT_EQ(api.send(request).status, 409);
  request.headers.set("Idempotency-Key", std::string(129, 'x'));
  EXPECT_EQ(api.send(request).status, 400);
}

// Without this, a stranger could make the daemon read without end.
TEST_F(ApiTest, BodiesAreBounded) {
  const auto one = api.post("/v1/jobs", "{\"tenant\":\"" + std::string(2U << 20, 'x') + "\"}");
  EXPECT_EQ(one.status, 413) << one.body.substr(0, 200);
  const auto huge = api.post("/v1/apply", std::string(10U << 20, ' '));
  EXPECT_EQ(huge.status, 413) << huge.body.substr(0, 200);
}

// Without this, each waiting client would take a thread, and a few of them the daemon.
TEST_F(ApiTest, ManyWaitsDoNotHoldUpOthers) {
  const auto job = wire::read_job_view(api.post("/v1/jobs", kJobOfTeamA).body);
  ASSERT_TRUE(job);
  ASSERT_TRUE(api.machine.reaches(job->id, JobState::kRunning));
  std::atomic<int> ended{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      const auto view = wire::read_job_view(api.get("/v1/jobs/" + job->id + "/wait?timeout=30s").body);
      if (view && view->state == JobState::kEnded) ++ended;
    });
  }
  EXPECT_TRUE(service::testing::eventually([&] { return api.http->connections() >= 16; }));
  EXPECT_EQ(api.get("/v1/version").status, 200);
  api.machine.world.finish({job->id, 1}, Outcome::kSucceeded, 0);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(ended, 16);
}

}  // namespace
}  // namespace tangram::server::testing

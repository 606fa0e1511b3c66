// Leases over a real socket: the stream that holds one, and who may ask for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "net/server_events.h"
#include "server/harness.h"

namespace tangram::server::testing {
namespace {

using ::testing::HasSubstr;

const char* const kLeaseOfTeamA = R"({"tenant":"team-a","npus":1})";

// A holder: reads the stream on a thread of its own until it ends or the test cuts it.
class Holder {
 public:
  Holder(Api& api, const std::string& path, const std::string& body, std::uint32_t uid = 0) {
    net::ClientRequest request = api.request(net::Method::kPost, path, body, uid);
    request.interrupt = &interrupt_;
    thread_ = std::thread([this, &api, request] {
      const auto head = api.client->stream(request, std::chrono::seconds(20), std::chrono::seconds(20),
                                           [this](std::string_view piece) { return take(piece); });
      const std::lock_guard lock(mutex_);
      ended_ = true;
      if (head && head->status != 200) refusal_ = *head;
    });
  }
  ~Holder() { cut(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void cut() {
    interrupt_.raise();
    if (thread_.joinable()) thread_.join();
  }
  std::vector<wire::LeaseView> views() {
    const std::lock_guard lock(mutex_);
    return views_;
  }
  wire::LeaseView first() {
    EXPECT_TRUE(service::testing::eventually([this] { return !views().empty(); }));
    return views().empty() ? wire::LeaseView{} : views().front();
  }
  bool ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  std::string problem() {
    const std::lock_guard lock(mutex_);
    return problem_;
  }
  net::Response refusal() {
    EXPECT_TRUE(service::testing::eventually([this] { return ended(); }));
    const std::lock_guard lock(mutex_);
    return refusal_;
  }

 private:
  bool take(std::string_view piece) {
    const auto fed = reader_.feed(piece, [this](const net::ServerEvent& event) {
      const std::lock_guard lock(mutex_);
      if (event.name == "problem") problem_ = event.data;
      if (event.name == "lease") views_.push_back(*wire::read_lease_view(event.data));
      return true;
    });
    return fed.value_or(false);
  }

  net::Interrupt interrupt_;
  net::ServerEventReader reader_;
  std::mutex mutex_;
  std::vector<wire::LeaseView> views_;
  std::string problem_;
  net::Response refusal_{0, {}, ""};
  bool ended_ = false;
  std::thread thread_;
};

class LeasesTest : public ::testing::Test {
 protected:
  Api api;
};

// Without this, a holder would not know what it holds, or its death would go unnoticed.
TEST_F(LeasesTest, TheStreamHoldsTheLease) {
  Holder holder(api, "/v1/leases", kLeaseOfTeamA);
  const wire::LeaseView view = holder.first();
  EXPECT_EQ(view.job.state, JobState::kRunning);
  EXPECT_EQ(view.job.npus.size(), 1U);
  EXPECT_TRUE(view.token.starts_with("tgl_"));
  const auto shown = wire::read_job_view(api.get("/v1/jobs/" + view.job.id).body);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->kind, wire::JobKind::kLease);
  EXPECT_THAT(api.get("/v1/jobs").body, ::testing::Not(HasSubstr(view.token)));
  holder.cut();
  EXPECT_TRUE(api.machine.reaches(view.job.id, JobState::kEnded));
  EXPECT_EQ(api.machine.view(view.job.id).outcome, Outcome::kLost);
}

// Without this, a holder would have to ask again and again whether its turn has come.
TEST_F(LeasesTest, TheStreamTellsEveryChangeAndEndsWithTheLease) {
  const std::string job = api.machine.job("team-a", 2);
  ASSERT_TRUE(api.machine.reaches(job, JobState::kRunning));
  Holder holder(api, "/v1/leases", kLeaseOfTeamA);
  const wire::LeaseView first = holder.first();
  EXPECT_EQ(first.job.state, JobState::kWaiting);
  ASSERT_TRUE(first.job.reason);
  EXPECT_EQ(first.job.reason->code, "quota.npus.exceeded");
  api.machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(
      service::testing::eventually([&] { return holder.views().back().job.state == JobState::kRunning; }));
  const std::string path = "/v1/leases/" + first.job.id + "/release";
  const auto released = api.post(path, wire::write(wire::LeaseToken{first.token}));
  ASSERT_EQ(released.status, 200) << released.body;
  EXPECT_TRUE(service::testing::eventually([&] { return holder.ended(); }));
  EXPECT_EQ(holder.views().back().job.outcome, Outcome::kSucceeded);
  for (std::size_t i = 1; i < holder.views().size(); ++i) {
    EXPECT_TRUE(holder.views()[i].token.empty()) << "the token is told once";
  }
}

// Without this, a holder whose connection is only half dead would fight with itself for the lease.
TEST_F(LeasesTest, TheLaterConnectionIsTheHolder) {
  Holder old(api, "/v1/leases", kLeaseOfTeamA, kTeamA);
  const wire::LeaseView view = old.first();
  Holder late(api, "/v1/leases/" + view.job.id + "/hold", wire::write(wire::LeaseToken{view.token}), kTeamA);
  EXPECT_EQ(late.first().job.id, view.job.id);
  EXPECT_TRUE(service::testing::eventually([&] { return old.ended(); }));
  EXPECT_THAT(old.problem(), HasSubstr("lease.taken_up"));
  EXPECT_EQ(api.machine.view(view.job.id).state, JobState::kRunning);
}

// Without this, one tenant could hold, take or release leases on another's quota.
TEST_F(LeasesTest, BelongToTheirTenant) {
  Holder foreign(api, "/v1/leases", kLeaseOfTeamA, kTeamB);
  EXPECT_EQ(foreign.refusal().status, 403);
  Holder stranger(api, "/v1/leases", kLeaseOfTeamA, kStranger);
  EXPECT_EQ(stranger.refusal().status, 401);
  Holder own(api, "/v1/leases", R"({"npus":1})", kTeamA);
  const wire::LeaseView view = own.first();
  EXPECT_EQ(view.job.tenant, "team-a");
  const std::string token = wire::write(wire::LeaseToken{view.token});
  for (const std::string action : {"hold", "release"}) {
    const std::string path = "/v1/leases/" + view.job.id + "/" + action;
    EXPECT_EQ(api.post(path, token, kTeamB).status, 404) << action;
    EXPECT_EQ(api.post(path, token, kStranger).status, 401) << action;
    const auto wrong = api.post(path, R"({"token":"tgl_0"})", kTeamA);
    EXPECT_EQ(wrong.status, 403) << action;
    EXPECT_EQ(Api::reason(wrong), "lease.token.wrong") << action;
  }
  EXPECT_EQ(api.machine.view(view.job.id).state, JobState::kRunning);
}

// Without this, a slip in a request would be a lease on the wrong NPUs, or a stream that says nothing.
TEST_F(LeasesTest, BadRequestsAreProblems) {
  for (const auto& [body, reason] : {std::pair{R"({"npus":0})", "input.out_of_range"},
                                     {R"({"tenant":"team-a","command":["/x"]})", "input.unknown_field"},
                                     {R"({"npus":)", "input.syntax"},
                                     {R"({"tenant":"team-a","npus":3})", "quota.npus.above_limit"},
                                     {R"({"tenant":"nobody"})", "tenant.unknown"}}) {
    const auto response = api.post("/v1/leases", body);
    EXPECT_EQ(Api::reason(response), reason) << response.body;
    EXPECT_EQ(response.headers.get("Content-Type"), "application/problem+json");
  }
  EXPECT_EQ(Api::reason(api.post("/v1/leases/j-99/hold", R"({"token":"x"})")), "job.unknown");
  EXPECT_EQ(Api::reason(api.post("/v1/leases/j-99/release", "{}")), "input.missing_field");
}

// Without this, the end of the daemon would look like the death of every holder.
TEST_F(LeasesTest, TheEndOfTheServerIsNotTheEndOfTheHolder) {
  Holder holder(api, "/v1/leases", kLeaseOfTeamA);
  const wire::LeaseView view = holder.first();
  api.machine.service->keep_leases();
  api.http->stop(std::chrono::milliseconds(500));
  EXPECT_TRUE(service::testing::eventually([&] { return holder.ended(); }));
  EXPECT_EQ(holder.views().back().job.state, JobState::kRunning);
  EXPECT_EQ(api.machine.view(view.job.id).state, JobState::kRunning);
}

// Without this, the quota of a tenant could be set by itself, or wrongly.
TEST_F(LeasesTest, AQuotaIsSetByTheOperatorAlone) {
  const auto put = [&](const std::string& body, std::uint32_t uid, const std::string& name = "team-a") {
    return api.send(api.request(net::Method::kPut, "/v1/tenants/" + name + "/quota", body, uid));
  };
  const auto set = put(R"({"npus":4,"priorities":["low"]})", 0);
  ASSERT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(wire::read_quota_view(set.body)->tenant.quota.npus, 4);
  EXPECT_EQ(put(R"({"npus":4})", kTeamA).status, 403);
  EXPECT_EQ(put(R"({"npus":4})", kStranger).status, 401);
  EXPECT_EQ(Api::reason(put(R"({"npus":-1})", 0)), "input.out_of_range");
  EXPECT_EQ(Api::reason(put(R"({"npu":1})", 0)), "input.unknown_field");
  EXPECT_EQ(put(R"({})", 0, "nobody").status, 404);
  EXPECT_EQ(wire::read_quota_view(api.get("/v1/tenants/team-a").body)->tenant.quota.npus, 4);
}

}  // namespace
}  // namespace tangram::server::testing

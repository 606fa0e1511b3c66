// Bearer tokens over the API: what each role may do, and what a token that is not good gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/harness.h"
#include "wire/tokens.h"

namespace tangram::server::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TokensTest : public ::testing::Test {
 protected:
  wire::TokenView create(const std::string& body) {
    const auto response = api.post("/v1/tokens", body);
    EXPECT_EQ(response.status, 201) << response.body;
    const auto view = wire::read_token_view(response.body);
    EXPECT_TRUE(view) << response.body;
    return view ? *view : wire::TokenView{};
  }
  // As the bearer; the uid would say stranger.
  net::Response ask(net::Method method, const std::string& path, const std::string& secret,
                    const std::string& body = "") {
    auto request = api.request(method, path, body, kStranger);
    request.headers.set("Authorization", "Bearer " + secret);
    return api.send(request);
  }

  Api api;
};

// Without this, tokens could not be managed over the network.
TEST_F(TokensTest, AreCreatedListedRotatedAndRevoked) {
  const auto made = create(R"({"name":"ci","role":"tenant","tenant":"team-a"})");
  EXPECT_EQ(made.id, "t-1");
  EXPECT_EQ(made.created_by, "uid 0");
  EXPECT_EQ(made.expires_at->value - made.created_at.value, wire::kLifetimeDefault.ms);
  EXPECT_EQ(ask(net::Method::kGet, "/v1/status", made.secret).status, 200);

  const auto list = api.get("/v1/tokens");
  EXPECT_EQ(list.status, 200);
  EXPECT_THAT(list.body, Not(HasSubstr(made.secret)));
  EXPECT_THAT(list.body, Not(HasSubstr("tgt_")));
  const auto read = wire::read_token_list(list.body);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->items.size(), 1U);
  EXPECT_TRUE(read->items[0].last_used_at);

  const auto rotated = wire::read_token_view(api.post("/v1/tokens/ci/rotate", "{}").body);
  ASSERT_TRUE(rotated);
  EXPECT_EQ(rotated->id, "t-1");
  EXPECT_EQ(ask(net::Method::kGet, "/v1/status", made.secret).status, 401);
  EXPECT_EQ(ask(net::Method::kGet, "/v1/status", rotated->secret).status, 200);

  const auto revoked = api.post("/v1/tokens/t-1/revoke");
  EXPECT_EQ(revoked.status, 200);
  EXPECT_EQ(wire::read_token_view(revoked.body)->state, wire::TokenState::kRevoked);
  const auto refused = ask(net::Method::kGet, "/v1/status", rotated->secret);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(Api::reason(refused), "token.revoked");
  EXPECT_EQ(api.post("/v1/tokens/t-1/revoke").status, 200);
  EXPECT_EQ(Api::reason(api.post("/v1/tokens/t-1/rotate", "{}")), "token.revoked");
}

// Without this, an answer with a secret could stay in a cache on the way.
TEST_F(TokensTest, AnswersWithASecretAreNotKept) {
  const auto response = api.post("/v1/tokens", R"({"name":"a","role":"viewer"})");
  EXPECT_EQ(response.headers.get("Cache-Control"), "no-store");
}

// Without this, a token that is not good could be told from one that never was, or would open something.
TEST_F(TokensTest, WhatIsNoGoodTokenGets401) {
  const auto made = create(R"({"name":"ci","role":"operator"})");
  std::string wrong = made.secret;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  const std::string foreign = "tgt_77_" + made.secret.substr(made.secret.rfind('_') + 1);
  for (const std::string& bad : {wrong, foreign, std::string("x"), std::string("tgt_1_"),
                                 std::string("tgt_1_zz"), std::string(10'000, 'a'), made.secret + "0"}) {
    const auto response = ask(net::Method::kGet, "/v1/status", bad);
    EXPECT_EQ(response.status, 401) << bad.substr(0, 80);
    EXPECT_EQ(Api::reason(response), "token.invalid") << bad.substr(0, 80);
    EXPECT_TRUE(response.headers.get("WWW-Authenticate"));
    EXPECT_THAT(response.body, Not(HasSubstr(made.secret.substr(10))));
  }
  // What is public for strangers is not for whoever shows a bad token: his client would not notice.
  EXPECT_EQ(ask(net::Method::kGet, "/v1/version", "x").status, 401);
  auto basic = api.request(net::Method::kGet, "/v1/status");
  basic.headers.set("Authorization", "Basic cm9vdDpyb290");
  EXPECT_EQ(api.send(basic).status, 401);
  auto lower = api.request(net::Method::kGet, "/v1/status", "", kStranger);
  lower.headers.set("Authorization", "bearer   " + made.secret);
  EXPECT_EQ(api.send(lower).status, 200);
}

// Without this, a token on the socket of the machine would count for nothing, or root's uid for more than it.
TEST_F(TokensTest, TheTokenAloneSaysWhoAsks) {
  const auto viewer = create(R"({"name":"v","role":"viewer"})");
  auto as_root = api.request(net::Method::kDelete, "/v1/tenants/team-b", "", 0);
  as_root.headers.set("Authorization", "Bearer " + viewer.secret);
  const auto refused = api.send(as_root);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(api.get("/v1/tenants/team-b").status, 200);
}

// Without this, a viewer could change something, or would miss what it is there to see.
TEST_F(TokensTest, AViewerReadsEverythingAndChangesNothing) {
  const auto viewer = create(R"({"name":"v","role":"viewer"})");
  ASSERT_EQ(
      api.post("/v1/jobs", R"({"tenant":"team-a","name":"train","command":["/x","--epochs=3"]})").status,
      201);
  ASSERT_TRUE(api.machine.reaches("j-1", JobState::kRunning));
  const std::size_t before = api.machine.store.records().size();
  for (const std::string path : {"/v1/status", "/v1/tenants", "/v1/tenants/team-b", "/v1/jobs",
                                 "/v1/jobs/train", "/v1/jobs/j-1/why", "/v1/jobs/j-1/logs", "/v1/tokens"}) {
    EXPECT_EQ(ask(net::Method::kGet, path, viewer.secret).status, 200) << path;
  }
  EXPECT_THAT(ask(net::Method::kGet, "/v1/jobs/team-a%2Ftrain", viewer.secret).body, HasSubstr("--epochs=3"));
  for (const auto& [method, path] :
       {std::pair{net::Method::kPost, "/v1/jobs"}, std::pair{net::Method::kPost, "/v1/jobs/j-1/cancel"},
        std::pair{net::Method::kPost, "/v1/apply"}, std::pair{net::Method::kDelete, "/v1/tenants/team-b"},
        std::pair{net::Method::kPost, "/v1/tokens"}, std::pair{net::Method::kPost, "/v1/tokens/v/rotate"},
        std::pair{net::Method::kPost, "/v1/tokens/v/revoke"}}) {
    const auto response = ask(method, path, viewer.secret, R"({"tenant":"team-a","command":["/x"]})");
    EXPECT_EQ(response.status, 403) << path << response.body;
  }
  EXPECT_EQ(api.machine.store.records().size(), before);
}

// Without this, a repeat under a token would be another's answer, or make a second job.
TEST_F(TokensTest, AnIdempotencyKeyBelongsToTheToken) {
  const auto one = create(R"({"name":"one","role":"tenant","tenant":"team-a"})");
  const auto two = create(R"({"name":"two","role":"tenant","tenant":"team-a"})");
  const auto submit = [&](const std::string& secret) {
    auto request = api.request(net::Method::kPost, "/v1/jobs", R"({"command":["/x"]})", kStranger);
    request.headers.set("Authorization", "Bearer " + secret);
    request.headers.set("Idempotency-Key", "k");
    return api.send(request);
  };
  const auto first = submit(one.secret);
  ASSERT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(submit(one.secret).body, first.body);
  EXPECT_NE(submit(two.secret).body, first.body);
  EXPECT_EQ(wire::read_job_view(first.body)->tenant, "team-a");
}

struct BadToken {
  const char* path;
  const char* body;
  int status;
  const char* reason;
};

class BadTokenRequest : public TokensTest, public ::testing::WithParamInterface<BadToken> {};

// Without this, a wrong request would make a token that does something else than was meant.
TEST_P(BadTokenRequest, IsRefusedAndChangesNothing) {
  create(R"({"name":"taken","role":"viewer"})");
  const std::size_t before = api.machine.store.records().size();
  const auto response = api.post(GetParam().path, GetParam().body);
  EXPECT_EQ(response.status, GetParam().status) << response.body;
  EXPECT_EQ(Api::reason(response), GetParam().reason) << response.body;
  EXPECT_EQ(api.machine.store.records().size(), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTokenRequest,
    ::testing::Values(
        BadToken{"/v1/tokens", "", 400, "input.syntax"},
        BadToken{"/v1/tokens", R"({"role":"viewer"})", 400, "input.missing_field"},
        BadToken{"/v1/tokens", R"({"name":"x"})", 400, "input.missing_field"},
        BadToken{"/v1/tokens", R"({"name":"x","role":"root"})", 400, "input.bad_value"},
        BadToken{"/v1/tokens", R"({"name":"X y","role":"viewer"})", 400, "input.bad_value"},
        BadToken{"/v1/tokens", R"({"name":"x","role":"tenant"})", 400, "input.missing_field"},
        BadToken{"/v1/tokens", R"({"name":"x","role":"viewer","tenant":"team-a"})", 400, "input.bad_value"},
        BadToken{"/v1/tokens", R"({"name":"x","role":"tenant","tenant":"nobody"})", 404, "tenant.unknown"},
        BadToken{"/v1/tokens", R"({"name":"x","role":"viewer","lifetime":"0s"})", 400, "input.bad_value"},
        BadToken{"/v1/tokens", R"({"name":"x","role":"viewer","lifetime":90})", 400, "input.wrong_type"},
        BadToken{"/v1/tokens", R"({"name":"x","role":"viewer","secret":"s"})", 400, "input.unknown_field"},
        BadToken{"/v1/tokens", R"({"name":"taken","role":"viewer"})", 409, "token.name_in_use"},
        BadToken{"/v1/tokens", R"({"name":"t-5","role":"viewer"})", 400, "input.reserved"},
        BadToken{"/v1/tokens/nobody/rotate", "{}", 404, "token.unknown"},
        BadToken{"/v1/tokens/taken/rotate", R"({"grace":"8"})", 400, "input.bad_value"},
        BadToken{"/v1/tokens/taken/rotate", R"({"graze":"1d"})", 400, "input.unknown_field"},
        BadToken{"/v1/tokens/t-9/revoke", "", 404, "token.unknown"}));

// Without this, a tenant at its rate would be told nothing, or hold up the others.
TEST(Rate, ATenantOverItsRateIsToldWhenToComeBack) {
  Api api({1, 5});
  int admitted = 0;
  net::Response refused;
  for (int i = 0; i < 12; ++i) {
    const auto response = api.get("/v1/version", kTeamA);
    if (response.status == 200) {
      ++admitted;
    } else {
      refused = response;
    }
  }
  EXPECT_GE(admitted, 5);
  EXPECT_LE(admitted, 7);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Api::reason(refused), "rate.exceeded");
  EXPECT_THAT(std::string(refused.headers.get("Retry-After").value_or("")), ::testing::AnyOf("1", "2"));
  EXPECT_EQ(api.get("/v1/status", kTeamB).status, 200);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(api.get("/v1/status").status, 200);
}

// Without this, batches would get round the rate.
TEST(Rate, ABatchCountsByItsJobs) {
  Api api({1, 10});
  std::string items;
  for (int i = 0; i < 200; ++i) items += (i == 0 ? "" : ",") + std::string(R"({"command":["/x"]})");
  EXPECT_EQ(api.post("/v1/jobs", "{\"items\":[" + items + "]}", kTeamA).status, 200);
  EXPECT_EQ(Api::reason(api.get("/v1/status", kTeamA)), "rate.exceeded");
}

}  // namespace
}  // namespace tangram::server::testing

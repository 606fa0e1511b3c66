// In which language the API answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/harness.h"

namespace tangram::server::testing {
namespace {

using ::testing::HasSubstr;

class LanguageTest : public ::testing::Test {
 protected:
  net::Response ask(net::Method method, const std::string& path, const std::string& body = "") {
    net::ClientRequest request = api.request(method, path, body);
    request.headers.set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8");
    return api.send(request);
  }

  Api api;
};

// Without this, everybody would be answered in English, or a client that says nothing in Chinese.
TEST_F(LanguageTest, ErrorsAreInTheLanguageThatIsAskedFor) {
  const auto chinese = ask(net::Method::kGet, "/v1/jobs/j-99");
  EXPECT_EQ(chinese.status, 404);
  EXPECT_THAT(chinese.body, HasSubstr("没有任务 j-99"));
  EXPECT_EQ(chinese.headers.get("Content-Language"), "zh");
  const auto english = api.get("/v1/jobs/j-99");
  EXPECT_THAT(english.body, HasSubstr("no job j-99"));
  EXPECT_EQ(english.headers.get("Content-Language"), "en");
  // The token is for machines.
  EXPECT_EQ(Api::reason(chinese), Api::reason(english));
  EXPECT_THAT(ask(net::Method::kGet, "/v1/nowhere").body, HasSubstr("路径 /v1/nowhere 不存在"));
  EXPECT_THAT(ask(net::Method::kGet, "/v1/jobs?limit=x").body, HasSubstr("不是整数"));
  EXPECT_THAT(ask(net::Method::kPost, "/v1/apply", "kind: Tenant\nmetadata: {name: A}\n").body,
              HasSubstr("第 1 个文档"));
}

// Without this, the reason why a job waits, and how it ended, would be in another language than the errors.
TEST_F(LanguageTest, ReasonsRefusalsAndVerdictsToo) {
  const std::string job = R"({"tenant":"team-a","npus":2,"name":"first","command":["/bin/true"]})";
  ASSERT_EQ(ask(net::Method::kPost, "/v1/jobs", job).status, 201);
  const std::string next = R"({"tenant":"team-a","npus":1,"name":"next","command":["/bin/true"]})";
  EXPECT_THAT(ask(net::Method::kPost, "/v1/jobs", next).body, HasSubstr("租户 team-a 的配额为 2 个 NPU"));
  EXPECT_THAT(ask(net::Method::kGet, "/v1/jobs").body, HasSubstr("租户 team-a 的配额为 2 个 NPU"));
  EXPECT_THAT(ask(net::Method::kGet, "/v1/jobs/next/why").body, HasSubstr("任务 next 等待中"));
  EXPECT_THAT(api.get("/v1/jobs/next/why").body, HasSubstr("job next waits"));
  const std::string never = R"({"tenant":"team-a","npus":3,"command":["/bin/true"]})";
  EXPECT_THAT(ask(net::Method::kPost, "/v1/jobs", never).body, HasSubstr("配额上限为 2 个 NPU"));
  const std::string now = R"({"tenant":"team-a","npus":1,"noWait":true,"command":["/bin/true"]})";
  EXPECT_THAT(ask(net::Method::kPost, "/v1/jobs", now).body, HasSubstr("任务被拒绝"));
  // A job of a batch that cannot be is told so in the same language.
  const std::string batch = R"({"items":[{"tenant":"team-a","command":["/bin/true"],"npus":0}]})";
  EXPECT_THAT(ask(net::Method::kPost, "/v1/jobs", batch).body, HasSubstr("必须是"));
  ASSERT_EQ(ask(net::Method::kPost, "/v1/jobs/next/cancel").status, 202);
  EXPECT_THAT(ask(net::Method::kGet, "/v1/jobs/next").body, HasSubstr("启动前被取消"));
  EXPECT_THAT(api.get("/v1/jobs/next").body, HasSubstr("cancelled before it started"));
}

// Without this, whoever is turned away at the door would be told why in a language that he may not read.
TEST_F(LanguageTest, RefusalsAtTheDoorToo) {
  net::ClientRequest stranger = api.request(net::Method::kGet, "/v1/jobs", "", kStranger);
  stranger.headers.set("Accept-Language", "zh");
  const auto unknown = api.send(stranger);
  EXPECT_EQ(unknown.status, 401);
  EXPECT_THAT(unknown.body, HasSubstr("既不是管理员，也未列入任何租户"));
  EXPECT_EQ(unknown.headers.get("Content-Language"), "zh");
  stranger.headers.set("Authorization", "Bearer tgt_1_00");
  EXPECT_THAT(api.send(stranger).body, HasSubstr("令牌不属于本守护进程"));
  EXPECT_THAT(ask(net::Method::kPost, "/v1/tokens", R"({"name":"a","role":"tenant"})").body,
              HasSubstr("角色为 tenant 的令牌代表一个租户"));
  EXPECT_THAT(ask(net::Method::kPost, "/v1/tokens/nobody/revoke").body, HasSubstr("没有令牌 nobody"));
}

// Without this, the notes about the machine and the tenants would be left out.
TEST_F(LanguageTest, NotesToo) {
  EXPECT_THAT(ask(net::Method::kGet, "/v1/tenants/team-a").body, HasSubstr("任务以 uid 200000 运行"));
}

}  // namespace
}  // namespace tangram::server::testing

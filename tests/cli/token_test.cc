// `tangram token …`: what it asks, what it prints, and where it leaves the secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "cli/fake_daemon.h"
#include "cli/render.h"
#include "wire/tokens.h"

namespace tangram::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "tgt_3_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

class TokenTest : public FakeDaemon {
 protected:
  TokenTest() {
    view.id = "t-3";
    view.name = "ci";
    view.role = wire::Role::kTenant;
    view.tenant = "team-a";
    view.created_by = "uid 0";
    view.expires_at = TimeMs(1'900'000'000'000);
    view.secret = kSecret;
    route = [this](const net::Request&) {
      net::Response response;
      response.status = status;
      response.body = wire::write(view);
      if (status >= 400) {
        response.body =
            R"({"status":409,"code":"already_exists","detail":"taken","reason":"token.name_in_use"})";
      }
      return response;
    };
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  wire::TokenView view;
  int status = 201;
};

// Without this, the token would be lost, or stand among words where no script could pick it up.
TEST_F(TokenTest, CreatePrintsTheTokenAlone) {
  const Ended ended =
      tangram({"token", "create", "ci", "--role", "tenant", "--tenant", "team-a", "--lifetime", "never"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, std::string(kSecret) + "\n");
  EXPECT_THAT(ended.err, HasSubstr("t-3 (ci) of role tenant for team-a"));
  EXPECT_THAT(ended.err, Not(HasSubstr("tgt_")));
  ASSERT_EQ(requests().size(), 1U);
  EXPECT_EQ(requests()[0].path, "/v1/tokens");
  const auto asked = wire::read_token_request(requests()[0].body);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->lifetime, wire::Lifetime{});
}

// Without this, the token would have to pass a terminal and its history to reach a file.
TEST_F(TokenTest, OutIsAFileOfTheOwnersAlone) {
  const std::string path = folder() + "/ci.token";
  const Ended ended = tangram({"token", "create", "ci", "--role", "viewer", "--out", path});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "t-3\n");
  EXPECT_THAT(ended.err, Not(HasSubstr("tgt_")));
  EXPECT_EQ(read(path), std::string(kSecret) + "\n");
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  // A file that is there is not written over, and nothing is asked for.
  const Ended again = tangram({"token", "create", "ci", "--role", "viewer", "--out", path});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr(path));
  EXPECT_EQ(requests().size(), 1U);
  // A rotation replaces it.
  view.secret = "tgt_3_new";
  status = 200;
  EXPECT_EQ(tangram({"token", "rotate", "ci", "--grace", "1h", "--out", path}).code, 0);
  EXPECT_EQ(read(path), "tgt_3_new\n");
  EXPECT_EQ(requests()[1].path, "/v1/tokens/ci/rotate");
  EXPECT_THAT(requests()[1].body, HasSubstr("1h"));
}

// Without this, a refused request would leave an empty file, or take away the old token.
TEST_F(TokenTest, ARefusalLeavesFilesAsTheyWere) {
  status = 409;
  const std::string path = folder() + "/ci.token";
  EXPECT_EQ(tangram({"token", "create", "ci", "--role", "viewer", "--out", path}).code, 7);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "old\n";
  EXPECT_EQ(tangram({"token", "rotate", "ci", "--out", path}).code, 7);
  EXPECT_EQ(read(path), "old\n");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  EXPECT_EQ(tangram({"token", "create", "ci", "--role", "viewer", "--out", folder() + "/no/such"}).code, 2);
}

// Without this, a wrong option would be found out by the daemon, or not at all.
TEST_F(TokenTest, OptionsAreChecked) {
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"token", "create", "ci"},
        {"token", "create", "ci", "--role", "root"},
        {"token", "create", "ci", "--role", "tenant"},
        {"token", "create", "ci", "--role", "viewer", "--tenant", "x"},
        {"token", "create", "C I", "--role", "viewer"},
        {"token", "create", "ci", "--role", "viewer", "--lifetime", "90"},
        {"token", "rotate", "ci", "--grace", "x"},
        {"token", "revoke"},
        {"token"}}) {
    const Ended ended = tangram(bad);
    EXPECT_EQ(ended.code, 2) << bad.back() << ended.err;
    EXPECT_NE(ended.err, "");
  }
  EXPECT_TRUE(requests().empty());
}

// Without this, an operator could not see which tokens there are and which are unused.
TEST_F(TokenTest, TheListShowsStateAndUse) {
  wire::TokenView idle = view;
  idle.secret.clear();
  wire::TokenView used = idle;
  used.id = "t-4";
  used.role = wire::Role::kViewer;
  used.tenant = "";
  used.expires_at = std::nullopt;
  used.last_used_at = TimeMs(1'899'999'000'000);
  used.state = wire::TokenState::kRevoked;
  const Canvas canvas{80, false, TimeMs(1'899'999'940'000)};
  const std::vector<wire::TokenView> all{idle, used};
  EXPECT_EQ(render_tokens(all, canvas),
            "ID   NAME  ROLE    TENANT  STATE    EXPIRES  LAST USED\n"
            "t-3  ci    tenant  team-a  active   in 1m    -\n"
            "t-4  ci    viewer  -       revoked  never    15m ago\n");
  EXPECT_THAT(render_tokens({}, canvas), HasSubstr("tangram token create"));
}

// Without this, a user who reads Chinese would get a table of English words, and a script one that changes
// with the language.
TEST_F(TokenTest, TheListIsForPeopleOrForPrograms) {
  view.secret.clear();
  view.created_at = TimeMs(1'800'000'000'000);
  view.old_secret_until = TimeMs(1'899'999'950'000);
  const std::vector<wire::TokenView> all{view};
  Canvas canvas{80, false, TimeMs(1'899'999'940'000), wire::Language::kChinese};
  EXPECT_EQ(render_tokens(all, canvas),
            "编号  名称  角色  租户    状态  有效期  最近使用\n"
            "t-3   ci    租户  team-a  有效  1m 后   -\n"
            "    上次轮换之前的密钥有效至 2030-03-17 17:45:50Z\n");
  EXPECT_EQ(render_token(view, wire::Language::kChinese),
            "令牌 t-3 (ci)，角色为租户，所属租户 team-a，有效期至 2030-03-17 17:46:40Z");
  canvas.language = wire::Language::kEnglish;
  // Neither secret of a revoked token opens anything.
  std::vector<wire::TokenView> revoked = all;
  revoked[0].state = wire::TokenState::kRevoked;
  EXPECT_THAT(render_tokens(revoked, canvas), Not(HasSubstr("accepted until")));
  canvas.now = *view.old_secret_until;
  EXPECT_THAT(render_tokens(all, canvas), Not(HasSubstr("accepted until")));
  canvas.table.csv = true;
  EXPECT_EQ(render_tokens(all, canvas),
            "id,name,role,tenant,state,expires,used,created,created-by,rotated,revoked,old-secret-until\n"
            "t-3,ci,tenant,team-a,active,2030-03-17T17:46:40Z,,2027-01-15T08:00:00Z,uid 0,,,"
            "2030-03-17T17:45:50Z\n");
  canvas.table = {};
  canvas.table.ids = true;
  EXPECT_EQ(render_tokens(all, canvas), "t-3\n");
  EXPECT_EQ(render_tokens({}, canvas), "");
}

// Without this, one wrong name would keep the others from being revoked.
TEST_F(TokenTest, RevokeGoesOnAfterAFailure) {
  route = [this](const net::Request& request) {
    net::Response response;
    const bool known = request.path == "/v1/tokens/ci/revoke";
    response.status = known ? 200 : 404;
    view.secret.clear();
    view.state = wire::TokenState::kRevoked;
    response.body =
        known ? wire::write(view)
              : R"({"status":404,"code":"not_found","detail":"no token x","reason":"token.unknown"})";
    return response;
  };
  const Ended ended = tangram({"token", "revoke", "x", "ci"});
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.err, HasSubstr("no token x"));
  EXPECT_THAT(ended.out, HasSubstr("t-3 (ci)"));
}

// Without this, a token would be sent with nothing, or show in what is printed.
TEST_F(TokenTest, TheTokenOfTheFileIsSent) {
  const std::string path = folder() + "/t";
  std::ofstream(path) << kSecret << "\n";
  chmod(path.c_str(), 0600);
  const Ended ended = tangram({"--token-file", path, "token", "list"});
  ASSERT_EQ(requests().size(), 1U);
  EXPECT_EQ(requests()[0].headers.get("Authorization"), std::string("Bearer ") + kSecret);
  EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(kSecret)));
  chmod(path.c_str(), 0644);
  EXPECT_EQ(tangram({"token", "list", "--token-file", path}).code, 2);
  EXPECT_EQ(requests().size(), 1U);
}

}  // namespace
}  // namespace tangram::cli

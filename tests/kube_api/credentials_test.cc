#include "kube/api/credentials.h"

#include <gtest/gtest.h>

#include <fstream>

#include "kube/api/client.h"
#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"
#include "net/certificates.h"
#include "net/support.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

class CredentialsTest : public ::testing::Test {
 protected:
  // Only who bears `accepted` is answered.
  CredentialsTest()
      : server([this](const SeenRequest& request, Conversation& client) {
          const std::lock_guard lock(mutex);
          if (request.header("Authorization") == "Bearer " + accepted) {
            client.answer(200, "{}");
          } else {
            client.answer(401, status_body(401, "Unauthorized", "Unauthorized"));
          }
        }) {
    write("token", "t-1\n");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory.file(name)) << text;
  }
  void accept(const std::string& token) {
    const std::lock_guard lock(mutex);
    accepted = token;
  }
  std::unique_ptr<ApiClient> open() {
    ClusterConfig config = server.config();
    config.token.file = directory.file("token");
    auto client = ApiClient::open(config, {}, timing);
    if (!client) std::abort();
    return std::move(*client);
  }
  std::vector<std::string> shown() const {
    std::vector<std::string> tokens;
    for (const SeenRequest& request : server.requests()) tokens.push_back(request.header("Authorization"));
    return tokens;
  }

  net::TemporaryDirectory directory;
  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
  std::mutex mutex;
  std::string accepted = "t-1";
  ApiServer server;
};

// Without this, every component would be locked out an hour after its start.
TEST_F(CredentialsTest, ATokenThatRotatedIsReadAgainInTime) {
  const auto client = open();
  EXPECT_TRUE(client->get_path("/version"));
  write("token", "t-2");
  EXPECT_TRUE(client->get_path("/version")) << "not at each request";
  timing->advance(milliseconds(60'000));
  accept("t-2");
  EXPECT_TRUE(client->get_path("/version"));
  EXPECT_EQ(shown(), (std::vector<std::string>{"Bearer t-1", "Bearer t-1", "Bearer t-2"}));
  EXPECT_EQ(server.connections(), 1) << "another token is no reason for another connection";
}

// Without this, a token that ended before its minute was over would fail requests that could succeed.
TEST_F(CredentialsTest, ARefusedTokenIsReadAgainAtOnce) {
  const auto client = open();
  write("token", "t-2");
  accept("t-2");
  EXPECT_TRUE(client->get_path("/version"));
  EXPECT_EQ(shown(), (std::vector<std::string>{"Bearer t-1", "Bearer t-2"}));
}

// Without this, a token that is really not accepted would be sent again and again.
TEST_F(CredentialsTest, ATokenThatStaysRefusedIsAnError) {
  const auto client = open();
  accept("another");
  const auto answer = client->get_path("/version");
  ASSERT_FALSE(answer);
  EXPECT_EQ(failure_of(answer.error()), Failure::kUnauthorized);
  EXPECT_EQ(server.requests().size(), 1U) << "nothing new to try";
  EXPECT_EQ(answer.error().to_string().find("t-1"), std::string::npos) << "a secret in a message";
}

// Without this, a file that is just being replaced would stop a component that could go on.
TEST_F(CredentialsTest, AFileThatCannotBeReadChangesNothing) {
  const auto client = open();
  for (const char* text : {"", "two words", "line\nbreak"}) {
    write("token", text);
    timing->advance(milliseconds(60'000));
    EXPECT_TRUE(client->get_path("/version")) << text;
  }
  std::filesystem::remove(directory.file("token"));
  timing->advance(milliseconds(60'000));
  EXPECT_TRUE(client->get_path("/version"));
}

// Without this, a mistake in the configuration would show at the first request only.
TEST_F(CredentialsTest, WhatCannotBeUsedIsRefusedAtTheStart) {
  const auto reason = [](const ClusterConfig& config) {
    return Credentials::open(config, 1'000, system_timing()).error().reason;
  };
  ClusterConfig config = server.config();
  config.token.file = directory.file("missing");
  EXPECT_EQ(reason(config), "kube.config.unreadable");
  config.token.file = directory.file("empty");
  write("empty", "");
  EXPECT_EQ(reason(config), "kube.config.invalid");
  config = server.config();
  config.tls = true;
  config.authorities.text = "no PEM";
  EXPECT_EQ(reason(config), "client.certificate.invalid");
}

class MutualTls : public ::testing::Test {
 protected:
  MutualTls() {
    authority.write(file("ca.pem"));
    authority.issue(file("server.pem"), file("server.key"), "IP:127.0.0.1");
    authority.issue(file("me.pem"), file("me.key"), "DNS:me");
    server = std::make_unique<ApiServer>(
        [](const SeenRequest&, Conversation& client) { client.answer(200, "{}"); },
        ApiServer::TlsFiles{file("server.pem"), file("server.key"), file("ca.pem")});
    config = server->config();
    config.authorities.file = file("ca.pem");
    config.client_certificate.file = file("me.pem");
    config.client_key.file = file("me.key");
  }
  std::string file(const std::string& name) const { return directory.file(name); }

  net::TemporaryDirectory directory;
  net::Authority authority;
  std::unique_ptr<ApiServer> server;
  ClusterConfig config;
  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
};

// Without this, the usual way to authenticate of kubeconfigs would not work.
TEST_F(MutualTls, ShowsTheCertificateOfTheKubeconfig) {
  const auto client = ApiClient::open(config, {}, timing);
  ASSERT_TRUE(client) << client.error().to_string();
  const auto answer = (*client)->get_path("/version");
  EXPECT_TRUE(answer) << answer.error().to_string();

  ClusterConfig anonymous = config;
  anonymous.client_certificate = {};
  anonymous.client_key = {};
  ClientSettings once;
  once.tries_max = 1;
  const auto refused = (*ApiClient::open(anonymous, once, timing))->get_path("/version");
  ASSERT_FALSE(refused);
  EXPECT_EQ(failure_of(refused.error()), Failure::kConnection);
}

// Without this, a client certificate that was renewed on disk would be used until it expired.
TEST_F(MutualTls, ACertificateThatRotatedIsShownOnNewConnections) {
  const auto client = ApiClient::open(config, {}, timing);
  ASSERT_TRUE(client);
  EXPECT_TRUE((*client)->get_path("/version"));
  authority.issue(file("me.pem"), file("me.key"), "DNS:me-again");
  timing->advance(milliseconds(60'000));
  EXPECT_TRUE((*client)->get_path("/version"));
  EXPECT_EQ(server->connections(), 2);
  // A key that does not belong to it yet: the old pair stays in use, with its connection.
  std::ofstream(file("me.key")) << "half";
  timing->advance(milliseconds(60'000));
  EXPECT_TRUE((*client)->get_path("/version"));
  EXPECT_EQ(server->connections(), 2);
}

// Without this, a server of another cluster could read the token.
TEST_F(MutualTls, TrustsOnlyTheAuthorityOfTheCluster) {
  const net::Authority stranger;
  stranger.write(file("stranger.pem"));
  config.authorities.file = file("stranger.pem");
  ClientSettings once;
  once.tries_max = 1;
  const auto refused = (*ApiClient::open(config, once, timing))->get_path("/version");
  ASSERT_FALSE(refused);
  EXPECT_EQ(failure_of(refused.error()), Failure::kConnection);
  EXPECT_NE(refused.error().to_string().find("not trusted"), std::string::npos)
      << refused.error().to_string();
  config.authorities.file = file("ca.pem");
  config.tls_name = "kubernetes";
  EXPECT_FALSE((*ApiClient::open(config, once, timing))->get_path("/version")) << "another name";
}

}  // namespace
}  // namespace tangram::kube

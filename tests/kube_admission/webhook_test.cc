// The webhook over HTTPS, with certificates of its own making.
#include "kube/admission/webhook.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "kube_admission/support.h"
#include "net/client.h"
#include "net/issue.h"
#include "net/support.h"
#include "net/tls.h"

namespace tangram::kube::admission {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class WebhookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const net::Validity validity{now - hours(1), now + hours(1)};
    authority = net::make_authority("test", validity).value();
    const net::Identity identity =
        net::issue_certificate(authority, std::vector<std::string>{"localhost"}, validity).value();
    std::ofstream(directory.file("tls.crt")) << identity.certificate;
    std::ofstream(directory.file("tls.key")) << identity.key;
    chmod(directory.file("tls.key").c_str(), 0600);
    net::TcpEndpoint endpoint;
    endpoint.tls = net::TlsContext::load({directory.file("tls.crt"), directory.file("tls.key")}).value();
    net::ServerOptions options;
    options.endpoints = {endpoint};
    options.limits = webhook_limits();
    const auto settings = std::make_shared<const Settings>();
    server = net::HttpServer::start(std::move(options), make_webhook([settings] { return settings; },
                                                                     std::make_shared<OneTenant>()))
                 .value();
  }

  Result<net::Response> ask(net::Method method, std::string path, std::string body,
                            std::string type = "application/json") const {
    net::ClientOptions options;
    options.host = "127.0.0.1";
    options.tls_name = "localhost";
    options.port = server->ports().front();
    options.ca_pem = authority.certificate;
    net::ClientRequest request;
    request.method = method;
    request.path = std::move(path);
    request.query.add("timeout", "10s");
    request.headers.set("Content-Type", std::move(type));
    request.body = std::move(body);
    return net::HttpClient(options).request(request, milliseconds(20'000));
  }

  net::TemporaryDirectory directory;
  net::Identity authority;
  std::unique_ptr<net::HttpServer> server;
};

// Without this, the API server could not ask, or would not trust the answer.
TEST_F(WebhookTest, AnswersOverHttps) {
  const json::object object = pod({container("main", {{"huawei.com/Ascend310P-memory", "4096"}})});
  const auto answer = ask(net::Method::kPost, "/pods", review_of(object));
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->headers.get("Content-Type"), "application/json");
  EXPECT_NE(answer->body.find(R"("allowed":true)"), std::string::npos) << answer->body;
  // A Pod as large as etcd takes, before and after.
  json::object large = object;
  large.at("metadata").as_object()["annotations"] =
      json::object{{"a.example/b", std::string(1'500'000, 'x')}};
  EXPECT_EQ(ask(net::Method::kPost, "/pods", review_of(large, "UPDATE", &large))->status, 200);
}

// Without this, a probe of the kubelet would fail, and a stranger's request be taken for a review.
TEST_F(WebhookTest, WhatIsNoReviewIsToldSo) {
  EXPECT_EQ(ask(net::Method::kGet, "/healthz", "")->status, 200);
  EXPECT_EQ(ask(net::Method::kGet, "/pods", "")->status, 405);
  EXPECT_EQ(ask(net::Method::kPost, "/other", "{}")->status, 404);
  EXPECT_EQ(ask(net::Method::kPost, "/pods", "{}")->status, 400);
  EXPECT_EQ(ask(net::Method::kPost, "/pods", "{}", "text/plain")->status, 415);
  EXPECT_EQ(ask(net::Method::kPost, "/pods", std::string(kReviewBytesMax + 1, ' '))->status, 413);
}

}  // namespace
}  // namespace tangram::kube::admission

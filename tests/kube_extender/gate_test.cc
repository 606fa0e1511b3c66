// Who may call the extender: over TLS, with client certificates.
#include "kube/extender/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "net/certificates.h"
#include "net/client.h"
#include "net/server.h"
#include "net/support.h"

namespace tangram::kube::extender {
namespace {

std::string read(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class GateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    authority.write(path("ca.pem"));
    for (const char* name : {"server", "scheduler", "other"}) {
      authority.issue(path(std::string(name) + ".pem"), path(std::string(name) + ".key"), "DNS:localhost");
    }
    net::TcpEndpoint endpoint;
    endpoint.tls = net::TlsContext::load({path("server.pem"), path("server.key"), path("ca.pem")}).value();
    net::ServerOptions options;
    options.endpoints = {endpoint};
    GateRules rules;
    rules.schedulers = {"the test's server 2"};  // as the authority calls the second that it vouches for
    rules.leads = [this] { return leads.load(); };
    rules.other_bytes_max = 10;
    server =
        net::HttpServer::start(
            std::move(options), [](const net::Request&, net::Responder responder) { responder.send({}); },
            make_gate(std::move(rules)))
            .value();
  }

  std::string path(const std::string& name) const { return directory.file(name); }

  std::unique_ptr<net::HttpClient> client(const std::string& name) const {
    net::ClientOptions options;
    options.host = "127.0.0.1";
    options.tls_name = "localhost";
    options.port = server->ports().front();
    options.ca_pem = read(path("ca.pem"));
    if (!name.empty()) {
      options.certificate_pem = read(path(name + ".pem"));
      options.key_pem = read(path(name + ".key"));
    }
    return std::make_unique<net::HttpClient>(options);
  }
  int ask(const std::string& name, std::string where, std::size_t bytes = 2) const {
    net::ClientRequest request;
    request.method = net::Method::kPost;
    request.path = std::move(where);
    request.body = std::string(bytes, ' ');
    const auto answer = client(name)->request(request, std::chrono::milliseconds(10'000));
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? answer->status : 0;
  }

  std::atomic<bool> leads = true;
  net::TemporaryDirectory directory;
  net::Authority authority;
  std::unique_ptr<net::HttpServer> server;
};

// Without this, any Pod that reaches the address could take places away, or have its own Pod bound.
TEST_F(GateTest, OnlyTheSchedulerCallsTheExtender) {
  for (const char* where : {"/filter", "/prioritize", "/bind"}) {
    EXPECT_EQ(ask("scheduler", where), 200) << where;
    EXPECT_EQ(ask("other", where), 403) << where;
    EXPECT_EQ(ask("", where), 403) << where;
    EXPECT_EQ(ask("other", where, 100'000), 403) << "its body is not read";
  }
}

// Without this, the API server, which shows no certificate, could not ask the webhook on the same address.
TEST_F(GateTest, OtherPathsAreForAll) {
  leads = false;
  EXPECT_EQ(ask("", "/pods"), 200);
  EXPECT_EQ(ask("scheduler", "/healthz"), 200);
  EXPECT_EQ(ask("", "/pods", 11), 413);
}

// Without this, the scheduler would keep its connection to a process that does not lead, and never find the
// one that does.
TEST_F(GateTest, WhoDoesNotLeadLetsGo) {
  const auto scheduler = client("scheduler");
  net::ClientRequest request;
  request.method = net::Method::kPost;
  request.path = "/filter";
  ASSERT_TRUE(scheduler->request(request, std::chrono::milliseconds(10'000)));
  leads = false;
  const auto answer = scheduler->request(request, std::chrono::milliseconds(10'000));
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->status, 503);
  EXPECT_TRUE(net::eventually([this] { return server->connections() == 0; }));
}

}  // namespace
}  // namespace tangram::kube::extender

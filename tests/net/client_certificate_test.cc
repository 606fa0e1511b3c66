// Who a client is by its certificate, where a server asks for one.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "net/certificates.h"
#include "net/support.h"
#include "net/tls.h"

namespace tangram::net {
namespace {

std::string read(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ClientCertificateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    authority.write(path("ca.pem"));
    stranger.write(path("stranger.pem"));
    authority.issue(path("server.pem"), path("server.key"), "DNS:localhost");
    authority.issue(path("known.pem"), path("known.key"), "DNS:client");
    authority.issue(path("past.pem"), path("past.key"), "DNS:client", -7'200, -3'600);
    stranger.issue(path("other.pem"), path("other.key"), "DNS:client");
  }

  std::string path(const char* name) const { return directory.file(name); }

  // A server that answers with the name that it knows its client by.
  void serve(std::string client_authority) {
    TcpEndpoint endpoint;
    endpoint.tls =
        TlsContext::load({path("server.pem"), path("server.key"), std::move(client_authority)}).value();
    ServerOptions options;
    options.endpoints = {endpoint};
    server = HttpServer::start(std::move(options), [](const Request& request, Responder responder) {
               Response response;
               response.body = "<" + request.peer.certificate_name + ">";
               responder.send(std::move(response));
             }).value();
  }

  std::string name_of(const std::string& client) const {
    ClientOptions options;
    options.host = "127.0.0.1";
    options.tls_name = "localhost";
    options.port = server->ports().front();
    options.ca_pem = read(path("ca.pem"));
    if (!client.empty()) {
      options.certificate_pem = read(path((client + ".pem").c_str()));
      options.key_pem = read(path((client + ".key").c_str()));
    }
    HttpClient http(options);
    const auto first = http.request(ClientRequest{}, milliseconds(10'000));
    EXPECT_TRUE(first) << first.error().to_string();
    if (!first) return "";
    // The same on a connection that is kept.
    const auto second = http.request(ClientRequest{}, milliseconds(10'000));
    EXPECT_TRUE(second && second->body == first->body);
    return first->body;
  }

  TemporaryDirectory directory;
  Authority authority;
  Authority stranger;
  std::unique_ptr<HttpServer> server;
};

// Without this, a server could not tell who calls, or would believe a certificate that anybody can make.
TEST_F(ClientCertificateTest, OnlyAKnownAuthoritysNameIsBelieved) {
  serve(path("ca.pem"));
  EXPECT_EQ(name_of("known"), "<the test's server 2>");
  EXPECT_EQ(name_of("other"), "<>");
  EXPECT_EQ(name_of("past"), "<>");
  // API servers show none, and are served on the same port.
  EXPECT_EQ(name_of(""), "<>");
}

// Without this, a server that asks nobody would take somebody's word.
TEST_F(ClientCertificateTest, WithoutAnAuthorityNobodyIsKnown) {
  serve("");
  EXPECT_EQ(name_of("known"), "<>");
}

// Without this, a wrong file would let nobody in, and nobody would be told why.
TEST_F(ClientCertificateTest, AnAuthorityThatIsNoneIsNamed) {
  std::ofstream(path("empty.pem")) << "nothing\n";
  for (const char* name : {"empty.pem", "absent.pem"}) {
    const auto context = TlsContext::load({path("server.pem"), path("server.key"), path(name)});
    ASSERT_FALSE(context) << name;
    EXPECT_NE(context.error().message.find(name), std::string::npos) << context.error().message;
  }
}

}  // namespace
}  // namespace tangram::net

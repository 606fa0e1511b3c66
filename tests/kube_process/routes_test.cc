#include "kube/process/routes.h"

#include <gtest/gtest.h>

#include <atomic>

#include "net/client.h"
#include "net/support.h"

namespace tangram::kube::process {
namespace {

net::Handler saying(std::string word) {
  return [word = std::move(word)](const net::Request&, net::Responder responder) {
    net::Response response;
    response.body = word;
    responder.send(std::move(response));
  };
}

class Served {
 public:
  explicit Served(net::Handler handler) {
    net::ServerOptions options;
    options.endpoints = {net::TcpEndpoint{}};
    server_ = net::HttpServer::start(std::move(options), std::move(handler)).value();
  }

  // "200 body"
  std::string ask(std::string path, net::Method method = net::Method::kGet) const {
    net::ClientOptions options;
    options.host = "127.0.0.1";
    options.port = server_->ports().front();
    options.tls = false;
    net::ClientRequest request;
    request.path = std::move(path);
    request.method = method;
    const auto answer = net::HttpClient(options).request(request, std::chrono::milliseconds(10'000));
    if (!answer) return answer.error().to_string();
    return std::to_string(answer->status) + " " + answer->body;
  }

 private:
  std::unique_ptr<net::HttpServer> server_;
};

// Without this, the scheduler would be answered by the webhook, or a probe of the kubelet by nobody.
TEST(KubeRoutes, EachPathHasItsPart) {
  std::atomic<bool> ready = false;
  Routes routes;
  routes.webhook = saying("webhook");
  routes.extender = saying("extender");
  routes.is_extender = [](const std::string& path) { return path == "/filter"; };
  routes.ready = [&ready] { return ready.load(); };
  const Served served(make_routes(std::move(routes)));
  EXPECT_EQ(served.ask("/filter", net::Method::kPost), "200 extender");
  EXPECT_EQ(served.ask("/pods", net::Method::kPost), "200 webhook");
  EXPECT_EQ(served.ask("/healthz"), "200 webhook");
  EXPECT_EQ(served.ask("/readyz"), "503 the cluster is being read\n");
  ready = true;
  EXPECT_EQ(served.ask("/readyz"), "200 ok\n");
}

// Without this, Prometheus would find nothing, or a stranger's path give it a page.
TEST(KubeRoutes, MetricsHaveAnAddressOfTheirOwn) {
  const Served served(make_metrics_routes([] { return std::string("a 1\n"); }));
  EXPECT_EQ(served.ask("/metrics"), "200 a 1\n");
  EXPECT_EQ(served.ask("/healthz"), "200 ok\n");
  EXPECT_TRUE(served.ask("/").starts_with("404"));
  EXPECT_TRUE(served.ask("/metrics", net::Method::kPost).starts_with("405"));
}

}  // namespace
}  // namespace tangram::kube::process

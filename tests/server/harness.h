// The API on a real socket, over a service on stand-ins. A header says which uid asks: the kernel's word for
// the peer is replaced, because a test has one uid only.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <charconv>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "net/client.h"
#include "net/server.h"
#include "server/api.h"
#include "server/gate.h"
#include "server/rate_limiter.h"
#include "service/harness.h"
#include "wire/errors.h"

namespace tangram::server::testing {

class TestGate final : public net::Gate {
 public:
  TestGate(service::Service& service, const ApiParts& parts) : real_(make_gate(service, parts, nullptr)) {}

  // Each request says who asks, so a connection is nobody's by itself.
  std::optional<net::Share> share_of(const net::Peer& peer) override { return real_->share_of(peer); }
  net::Admission admit(const net::Request& head) override {
    net::Request request = head;
    const auto text = request.headers.get("Test-Uid").value_or("0");
    std::uint32_t uid = 0;
    std::from_chars(text.data(), text.data() + text.size(), uid);
    request.peer.process->uid = uid;
    return real_->admit(request);
  }

 private:
  std::unique_ptr<net::Gate> real_;
};

class Api {
 public:
  explicit Api(Rate rate = {100'000, 100'000}) : Api(net::ServerLimits(), [](service::Options&) {}, rate) {}
  Api(const net::ServerLimits& limits, const std::function<void(service::Options&)>& change,
      Rate rate = {100'000, 100'000}, std::size_t handler_threads = net::ServerOptions().handler_threads)
      : parts{std::make_shared<RateLimiter>(rate)}, limits_(limits), handler_threads_(handler_threads) {
    change(machine.options);
    std::string name = "/tmp/tg-api-XXXXXX";
    directory_ = mkdtemp(name.data());
    machine.log_directory = directory_;
    machine.start();
    machine.tenant("team-a", 2);
    machine.tenant("team-b", 2);
    machine.tenant("team-a-child", 1, ", parent: team-a");
    listen();
  }
  ~Api() {
    http.reset();
    machine.stop();
    std::filesystem::remove_all(directory_);
  }
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  net::ClientRequest request(net::Method method, const std::string& path, const std::string& body = "",
                             std::uint32_t uid = 0) {
    net::ClientRequest request;
    request.method = method;
    const auto question = path.find('?');
    request.path = path.substr(0, question);
    if (question != std::string::npos) request.query = *net::Query::parse(path.substr(question + 1));
    request.body = body;
    request.headers.set("Test-Uid", std::to_string(uid));
    return request;
  }
  net::Response send(const net::ClientRequest& request) {
    auto response = client->request(request, std::chrono::seconds(30));
    EXPECT_TRUE(response) << response.error().to_string();
    return response ? *response : net::Response{0, {}, ""};
  }
  net::Response get(const std::string& path, std::uint32_t uid = 0) {
    return send(request(net::Method::kGet, path, "", uid));
  }
  net::Response post(const std::string& path, const std::string& body = "", std::uint32_t uid = 0) {
    return send(request(net::Method::kPost, path, body, uid));
  }
  // The daemon dies and comes back.
  void restart() {
    client.reset();
    http.reset();
    machine.crash();
    machine.start();
    listen();
  }
  static std::string reason(const net::Response& response) {
    return wire::read_problem(response.status, response.body).reason;
  }

  std::string socket() const { return directory_ + "/api.sock"; }

  service::testing::Machine machine;
  ApiParts parts;
  std::unique_ptr<net::HttpServer> http;
  std::unique_ptr<net::HttpClient> client;

 private:
  void listen() {
    net::ServerOptions options;
    const std::string path = socket();
    options.endpoints = {net::UnixEndpoint{path, 0600, std::nullopt, std::nullopt}};
    options.limits = limits_;
    options.limits.body_bytes_max = wire::kBatchBytesMax;
    options.handler_threads = handler_threads_;
    auto started = net::HttpServer::start(options, make_handler(*machine.service, parts),
                                          std::make_unique<TestGate>(*machine.service, parts));
    ASSERT_TRUE(started) << started.error().to_string();
    http = std::move(*started);
    net::ClientOptions to;
    to.socket_path = path;
    client = std::make_unique<net::HttpClient>(to);
  }

  const net::ServerLimits limits_;
  const std::size_t handler_threads_;
  std::string directory_;
};

// The uids that the three tenants of Api were given.
inline constexpr std::uint32_t kTeamA = 200'000;
inline constexpr std::uint32_t kTeamB = 200'001;
inline constexpr std::uint32_t kStranger = 4'711;

inline const char* const kJobOfTeamA = R"({"tenant":"team-a","npus":1,"command":["/bin/true"]})";

}  // namespace tangram::server::testing

// What a gate decides before anything is spent on a request.
#include "net/gate.h"

#include <atomic>
#include <vector>

#include "net/problem.h"
#include "net/support.h"

namespace tangram::net {
namespace {

// Knows the callers by a header, as tokens do; nobody by the socket.
class HeaderGate final : public Gate {
 public:
  struct Seen {
    std::atomic<int> admitted{0};
    Mailbox<int> statuses;
  };

  explicit HeaderGate(Seen& seen) : seen_(seen) {}

  std::optional<Share> share_of(const Peer&) override { return std::nullopt; }

  Admission admit(const Request& head) override {
    ++seen_.admitted;
    Admission admission;
    admission.answered = [this](int status) { seen_.statuses.put(status); };
    const auto caller = head.headers.get("Caller");
    if (head.path == "/public") {
      admission.body_bytes_max = 10;
    } else if (!caller) {
      admission.refusal = problem(401, "caller.unknown", "who are you?");
    } else {
      admission.share = Share{std::string(*caller), false};
      admission.body_bytes_max = 1'000;
      admission.identity = std::make_shared<const std::string>(*caller);
    }
    return admission;
  }

 private:
  Seen& seen_;
};

void tell_caller(const Request& request, Responder responder) {
  Response response;
  const auto* caller = static_cast<const std::string*>(request.identity.get());
  response.body =
      "caller " + (caller == nullptr ? "-" : *caller) + " body " + std::to_string(request.body.size());
  responder.send(std::move(response));
}

class GateTest : public ServerFixture {
 protected:
  Running serve_with_gate(Handler handler, ServerLimits limits = {}) {
    limits.connections_unknown_max = 3;
    ServerOptions options;
    options.endpoints = {UnixEndpoint{socket_path(), 0600, std::nullopt, std::nullopt}};
    options.limits = limits;
    auto started =
        HttpServer::start(std::move(options), std::move(handler), std::make_unique<HeaderGate>(seen));
    if (!started) std::abort();
    server_ = std::move(*started);
    return Running(this);
  }
  Result<Response> ask(HttpClient& http, const std::string& path, const std::string& caller = "",
                       const std::string& body = "") {
    ClientRequest request;
    request.method = body.empty() ? Method::kGet : Method::kPost;
    request.path = path;
    request.body = body;
    if (!caller.empty()) request.headers.set("Caller", caller);
    return http.request(request, milliseconds(5'000));
  }

  HeaderGate::Seen seen;
};

// Without this, a stranger could make the daemon read megabytes before it says no.
TEST_F(GateTest, ARefusalComesBeforeTheBody) {
  std::atomic<int> handled{0};
  const Running serving = serve_with_gate([&](const Request& request, Responder responder) {
    ++handled;
    tell_caller(request, std::move(responder));
  });
  RawClient raw(socket_path());
  ASSERT_TRUE(raw.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n"));
  const std::string answer = raw.read_to_end();
  EXPECT_NE(answer.find("401 Unauthorized"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(seen.statuses.take(), 401);
}

// Without this, a handler would not know for whom it works.
TEST_F(GateTest, TheIdentityReachesTheHandler) {
  const Running serving = serve_with_gate(tell_caller);
  HttpClient http = client();
  EXPECT_EQ(ask(http, "/x", "alice", "abc")->body, "caller alice body 3");
  EXPECT_EQ(ask(http, "/x", "bob")->body, "caller bob body 0");
  EXPECT_EQ(ask(http, "/public")->body, "caller - body 0");
  EXPECT_EQ(seen.statuses.take(), 200);
}

// Without this, the smaller bound for strangers would not hold.
TEST_F(GateTest, TheGateBoundsTheBody) {
  const Running serving = serve_with_gate(tell_caller);
  HttpClient http = client();
  EXPECT_EQ(ask(http, "/public", "", "0123456789")->status, 200);
  EXPECT_EQ(ask(http, "/public", "", "0123456789x")->status, 413);
  EXPECT_EQ(ask(http, "/x", "alice", std::string(1'001, 'x'))->status, 413);
  RawClient chunked(socket_path());
  chunked.send(
      "POST /public HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789x\r\n0\r\n\r\n");
  EXPECT_NE(chunked.read_to_end().find("413"), std::string::npos);
}

// Without this, a stranger could knock for ever on one connection, at no cost to himself.
TEST_F(GateTest, ANobodysConnectionHasOneRequest) {
  const Running serving = serve_with_gate(tell_caller);
  RawClient raw(socket_path());
  raw.send("GET /public HTTP/1.1\r\nHost: x\r\n\r\nGET /public HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string all = raw.read_to_end();
  EXPECT_NE(all.find("Connection: close"), std::string::npos);
  EXPECT_EQ(seen.admitted, 1);
  RawClient known(socket_path());
  known.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\nCaller: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nCaller: a\r\n\r\n");
  EXPECT_NE(known
                .read_until([](const std::string& text) {
                  return text.find("caller a", text.find("caller a") + 1) != std::string::npos;
                })
                .find("200 OK"),
            std::string::npos);
}

// Without this, silent strangers would keep out everybody who comes after them.
TEST_F(GateTest, SilentStrangersMakeRoomForNewcomers) {
  const Running serving = serve_with_gate(tell_caller);
  std::vector<std::unique_ptr<RawClient>> silent;
  silent.reserve(50);
  for (int i = 0; i < 50; ++i) silent.push_back(std::make_unique<RawClient>(socket_path()));
  HttpClient http = client();
  EXPECT_EQ(ask(http, "/x", "alice")->status, 200);
  EXPECT_TRUE(eventually([&] { return server_->connections() <= 4; }));
  // Whoever was pushed out sees the end.
  EXPECT_EQ(silent[0]->read_to_end(), "");
}

// Without this, connections that show a token only later would get round the share of their tenant.
TEST_F(GateTest, AShareIsBoundedAlsoWhenItShowsLate) {
  ServerLimits limits;
  limits.connections_per_share_max = 2;
  Mailbox<Responder> waiting;
  const Running serving = serve_with_gate(
      [&](const Request&, Responder responder) { waiting.put(std::move(responder)); }, limits);
  std::vector<std::unique_ptr<RawClient>> polls;
  std::vector<Responder> held;
  for (int i = 0; i < 2; ++i) {
    polls.push_back(std::make_unique<RawClient>(socket_path()));
    polls.back()->send("GET /wait HTTP/1.1\r\nHost: x\r\nCaller: alice\r\n\r\n");
    held.push_back(waiting.take());
  }
  HttpClient http = client();
  const auto refused = ask(http, "/x", "alice");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_NE(refused->body.find("alice holds 2 connections"), std::string::npos) << refused->body;
  std::thread other([&] { EXPECT_EQ(ask(http, "/x", "bob")->status, 200); });
  waiting.take().send({});
  other.join();
}

// Without this, bodies of one tenant, each within its bound, would fill the memory together.
TEST_F(GateTest, BodiesUnderWayAreBoundedTogether) {
  ServerLimits limits;
  limits.bytes_per_share_max = 1'500;
  Mailbox<Responder> waiting;
  const Running serving = serve_with_gate(
      [&](const Request&, Responder responder) { waiting.put(std::move(responder)); }, limits);
  RawClient first(socket_path());
  first.send("POST /x HTTP/1.1\r\nHost: x\r\nCaller: alice\r\nContent-Length: 1000\r\n\r\n" +
             std::string(1'000, 'x'));
  Responder held = waiting.take();
  HttpClient http = client();
  const auto refused = ask(http, "/x", "alice", std::string(1'000, 'x'));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.get("Retry-After"), "1");
  held.send({});
  first.read_until_contains("200 OK");
  std::thread again([&] { EXPECT_EQ(ask(http, "/x", "alice", std::string(1'000, 'x'))->status, 200); });
  waiting.take().send({});
  again.join();
}

// Without this, the audit would not know of a request whose client hung up.
TEST_F(GateTest, ARequestWithoutAReaderIsToldAsZero) {
  Mailbox<Responder> waiting;
  const Running serving =
      serve_with_gate([&](const Request&, Responder responder) { waiting.put(std::move(responder)); });
  {
    RawClient raw(socket_path());
    raw.send("GET /x HTTP/1.1\r\nHost: x\r\nCaller: alice\r\n\r\n");
    waiting.take();  // lets go of it: 500, but nobody is there
    raw.hang_up();
  }
  const int status = seen.statuses.take();
  EXPECT_TRUE(status == 0 || status == 500) << status;
  RawClient cut(socket_path());
  cut.send("POST /x HTTP/1.1\r\nHost: x\r\nCaller: alice\r\nContent-Length: 100\r\n\r\nhalf");
  EXPECT_TRUE(eventually([&] { return seen.admitted == 2; }));
  cut.hang_up();
  EXPECT_EQ(seen.statuses.take(), 0);
}

}  // namespace
}  // namespace tangram::net

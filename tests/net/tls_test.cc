// The same HTTP over TCP and TLS, and what goes wrong with certificates.
#include "net/tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "net/certificates.h"
#include "net/listen.h"
#include "net/support.h"

namespace tangram::net {
namespace {

constexpr std::size_t kTotal = std::size_t{4} << 20;

// A client of TLS 1.3 that does as it is told, on a connected socket which it leaves open.
class Client {
 public:
  explicit Client(int fd) : context_(SSL_CTX_new(TLS_client_method())), tls_(SSL_new(context_)) {
    signal(SIGPIPE, SIG_IGN);  // the library writes as it does
    SSL_set_fd(tls_, fd);
    if (SSL_connect(tls_) != 1) std::abort();
  }
  ~Client() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  ssize_t say(const std::string& text) { return SSL_write(tls_, text.data(), static_cast<int>(text.size())); }
  std::string hear() {
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max(SSL_read(tls_, text.data(), 4096), 0)));
    return text;
  }
  bool renew_keys() {
    return SSL_key_update(tls_, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(tls_) == 1;
  }

 private:
  SSL_CTX* context_;
  SSL* tls_;
};

// Requests that wait, and the news that nobody waits for their answer any more.
struct LongWork {
  Mailbox<int> cancelled;
  Mailbox<Responder> waiting;

  Handler handler() {
    return [this](const Request&, Responder responder) {
      responder.on_cancel([this] { cancelled.put(1); });
      waiting.put(std::move(responder));
    };
  }
};

class TlsTest : public ServerFixture {
 protected:
  TlsTest() {
    authority.write(file("ca.pem"));
    authority.issue(file("c.pem"), file("k.pem"), "DNS:localhost,IP:127.0.0.1");
  }

  std::string file(std::string_view name) const { return directory_.file(name); }

  Result<std::shared_ptr<TlsContext>> load(const std::string& certificate = "c.pem",
                                           const std::string& key = "k.pem") const {
    return TlsContext::load({file(certificate), file(key)});
  }

  // Serves on TCP, with TLS unless `plain`.
  Running serve_tcp(Handler handler, ServerLimits limits = {}, bool plain = false) {
    ServerOptions options;
    TcpEndpoint endpoint;
    if (!plain) {
      auto loaded = load();
      if (!loaded) std::abort();
      context = *loaded;
      endpoint.tls = context;
    }
    options.endpoints = {endpoint};
    options.limits = limits;
    auto started = HttpServer::start(std::move(options), std::move(handler));
    if (!started) std::abort();
    server_ = std::move(*started);
    return Running(this);
  }

  ClientOptions to_server() const {
    ClientOptions options;
    options.host = "127.0.0.1";
    options.port = server_->ports().front();
    options.ca_file = file("ca.pem");
    options.unreachable_hint = "start it";
    return options;
  }

  // A raw TCP connection to the server.
  int dial() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->ports().front());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
    return fd;
  }

  Authority authority;
  std::shared_ptr<TlsContext> context;
};

// Without this, nobody could reach the daemon from elsewhere without being read on the way.
TEST_F(TlsTest, HandsOverRequestsAndAnswersOfAnySize) {
  const Running serving = serve_tcp([](const Request& request, Responder responder) {
    EXPECT_FALSE(request.peer.process);
    EXPECT_EQ(request.peer.host(), "127.0.0.1");
    Response response;
    response.body = request.body + request.body;
    responder.send(std::move(response));
  });
  HttpClient http(to_server());
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{3} << 20}) {
    const std::string body(size, 'x');
    const auto answer = http.request({Method::kPost, "/", {}, {}, body}, milliseconds(20'000));
    ASSERT_TRUE(answer) << answer.error().to_string();
    EXPECT_EQ(answer->body.size(), 2 * size);
  }
  EXPECT_EQ(server_->connections(), 1U);
  ClientOptions by_name = to_server();
  by_name.host = "localhost";
  EXPECT_TRUE(HttpClient(by_name).request({}, milliseconds(5'000)));
}

// Without this, `logs -f` would not work over the network.
TEST_F(TlsTest, StreamsArePushedBackAndComplete) {
  const Running serving = serve_tcp([](const Request&, Responder responder) {
    auto writer = std::make_shared<StreamWriter>(responder.stream({}));
    auto left = std::make_shared<std::size_t>(kTotal);
    auto step = std::make_shared<std::function<void()>>();
    *step = [writer, left, step] {
      while (*left > 0) {
        const std::size_t now = std::min<std::size_t>(*left, 50'000);
        if (writer->write(std::string(now, 's')) == StreamWriter::Status::kFull) {
          writer->on_writable([step] { (*step)(); });
          return;
        }
        *left -= now;
      }
      writer->finish();
      *step = nullptr;
    };
    const auto first = step;
    (*first)();
  });
  std::size_t received = 0;
  const auto head = HttpClient(to_server())
                        .stream({}, milliseconds(5'000), milliseconds(20'000), [&](std::string_view piece) {
                          received += piece.size();
                          return true;
                        });
  ASSERT_TRUE(head) << head.error().to_string();
  EXPECT_EQ(received, kTotal);
}

// Without this, a client would send its token to whoever answers.
TEST_F(TlsTest, AClientTrustsOnlyWhomItIsTold) {
  const Running serving = serve_tcp(echo);
  ClientOptions options = to_server();
  options.ca_file = "";
  const auto stranger = HttpClient(options).request({}, milliseconds(5'000));
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().reason, "client.tls.untrusted");
  EXPECT_NE(stranger.error().hint.find("--ca-file"), std::string::npos);
  options.ca_option = "ConnectOptions::ca_file";
  const std::string hint = HttpClient(options).request({}, milliseconds(5'000)).error().hint;
  EXPECT_EQ(hint, "name the authority that signed it with ConnectOptions::ca_file");

  const Authority other;
  other.write(file("other.pem"));
  options.ca_file = file("other.pem");
  EXPECT_EQ(HttpClient(options).request({}, milliseconds(5'000)).error().reason, "client.tls.untrusted");

  options.ca_file = file("nothing.pem");
  EXPECT_EQ(HttpClient(options).request({}, milliseconds(5'000)).error().reason, "client.ca_file.unreadable");
  options.ca_file = file("pipe");
  ASSERT_EQ(mkfifo(options.ca_file.c_str(), 0600), 0);
  const Error pipe = HttpClient(options).request({}, milliseconds(5'000)).error();
  EXPECT_EQ(pipe.reason, "client.ca_file.unreadable");
  EXPECT_NE(pipe.message.find("it is a pipe"), std::string::npos) << pipe.message;
}

// Without this, the certificate of one server would open every other.
TEST_F(TlsTest, AClientChecksTheName) {
  authority.issue(file("c.pem"), file("k.pem"), "DNS:elsewhere.example");
  const Running serving = serve_tcp(echo);
  const auto answer = HttpClient(to_server()).request({}, milliseconds(5'000));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "client.tls.untrusted");
  EXPECT_NE(answer.error().message.find("mismatch"), std::string::npos) << answer.error().message;
}

// Without it the user of an expired certificate, or of a name that the certificate lacks, would look for
// another authority.
TEST_F(TlsTest, SaysWhatHelpsAgainstAnUntrustedCertificate) {
  struct Case {
    std::string names;
    long begin, end;
    std::string message, hint;
  };
  for (const Case& one :
       {Case{"IP:127.0.0.1", -7'200, -3'600, "has expired", "ask the operator for a newer certificate"},
        Case{"IP:127.0.0.1", 3'600, 7'200, "not yet valid", "check the clocks"},
        Case{"DNS:elsewhere.example", -60, 3'600, "mismatch", "name the host as its certificate does"}}) {
    authority.issue(file("c.pem"), file("k.pem"), one.names, one.begin, one.end);
    const Running serving = serve_tcp(echo);
    const auto answer = HttpClient(to_server()).request({}, milliseconds(5'000));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, "client.tls.untrusted");
    EXPECT_NE(answer.error().message.find(one.message), std::string::npos) << answer.error().message;
    EXPECT_NE(answer.error().hint.find(one.hint), std::string::npos) << answer.error().hint;
    EXPECT_EQ(answer.error().hint.find("--ca-file"), std::string::npos) << answer.error().hint;
  }
}

// Without this, whoever waits for a daemon to come back would give up when it ends in the middle of a
// handshake.
TEST_F(TlsTest, ADaemonThatEndsInTheHandshakeIsLostAndNotWrong) {
  for (const bool has_read : {true, false}) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    std::thread daemon([&] {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      std::array<char, 4096> hello{};
      pollfd watched{fd, POLLIN, 0};
      EXPECT_EQ(poll(&watched, 1, 5'000), 1);
      // What was not read makes the kernel reset the connection.
      if (has_read) {
        EXPECT_GT(recv(fd, hello.data(), hello.size(), 0), 0);
      }
      close(fd);
    });
    ClientOptions options;
    options.host = "127.0.0.1";
    options.port = ntohs(address.sin_port);
    options.ca_file = file("ca.pem");
    const auto answer = HttpClient(options).request({}, milliseconds(5'000));
    daemon.join();
    close(listener);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, "client.connection_lost") << has_read << answer.error().to_string();
  }
}

// Without this, an old client could be made to speak a protocol that is broken.
TEST_F(TlsTest, OldProtocolsAreRefused) {
  const Running serving = serve_tcp(echo);
  for (const auto& [version, good] :
       {std::pair{TLS1_1_VERSION, false}, std::pair{TLS1_2_VERSION, true}, std::pair{TLS1_3_VERSION, true}}) {
    const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> client(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    SSL_CTX_set_security_level(client.get(), 0);
    SSL_CTX_set_min_proto_version(client.get(), version);
    SSL_CTX_set_max_proto_version(client.get(), version);
    const std::unique_ptr<SSL, void (*)(SSL*)> tls(SSL_new(client.get()), SSL_free);
    const int fd = dial();
    SSL_set_fd(tls.get(), fd);
    EXPECT_EQ(SSL_connect(tls.get()) == 1, good) << version;
    close(fd);
  }
}

// Without this, a user who forgot the s of https would see a dead connection.
TEST_F(TlsTest, PlainHttpOnATlsPortIsToldSo) {
  const Running serving = serve_tcp(echo);
  ClientOptions options = to_server();
  options.tls = false;
  const auto answer = HttpClient(options).request({}, milliseconds(5'000));
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->status, 400);
  EXPECT_NE(answer->body.find("http.tls.required"), std::string::npos);
}

// Without this, a token could go over the network in the clear by a slip of the hand.
TEST_F(TlsTest, PlainIsForThisMachineOnly) {
  const Running serving = serve_tcp(echo, {}, true);
  ClientOptions options = to_server();
  options.tls = false;
  EXPECT_TRUE(HttpClient(options).request({}, milliseconds(5'000)));
  options.host = "192.0.2.1";
  const auto refused = HttpClient(options).request({}, milliseconds(5'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "client.plain.refused");
}

// Without this, who speaks no TLS to the end would hold a connection, byte by byte.
TEST_F(TlsTest, TheHandshakeIsPartOfTheHeadersTime) {
  ServerLimits limits;
  limits.header_time = milliseconds(300);
  const Running serving = serve_tcp(echo, limits);
  const int silent = dial();
  const int slow = dial();
  const auto begin = std::chrono::steady_clock::now();
  std::thread trickle([slow] {
    // The start of a record that promises 512 bytes, and then one byte at a time.
    const char head[] = {0x16, 0x03, 0x01, 0x02, 0x00};
    if (::send(slow, head, sizeof head, MSG_NOSIGNAL) < 0) return;
    for (int i = 0; i < 200; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      if (::send(slow, "\x01", 1, MSG_NOSIGNAL) < 0) return;
    }
  });
  for (const int fd : {silent, slow}) {
    char byte = 0;
    while (recv(fd, &byte, 1, 0) > 0) {
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2'000));
  trickle.join();
  close(silent);
  close(slow);
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

// Without this, whoever makes a connection for each request would have the thread that serves everybody do
// nothing but handshakes.
TEST_F(TlsTest, HandshakesHaveAPace) {
  ServerLimits limits;
  limits.handshakes_per_second = 5;
  const Running serving =
      serve_tcp([](const Request&, Responder responder) { responder.send(Response()); }, limits);
  HttpClient known(to_server());
  ASSERT_TRUE(known.request({}, milliseconds(5'000)));
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 40; ++i) {
    clients.emplace_back([&] {
      const auto answer = HttpClient(to_server()).request({}, milliseconds(10'000));
      answered += answer ? 1 : 0;
    });
  }
  for (std::thread& client : clients) client.join();
  // Ten at once, five that wait for up to a second, and what time passed meanwhile.
  EXPECT_GE(answered, 10);
  EXPECT_LT(answered, 40);
  EXPECT_TRUE(known.request({}, milliseconds(5'000))) << "a connection that is there goes on";
  std::this_thread::sleep_for(milliseconds(1'000));
  EXPECT_TRUE(HttpClient(to_server()).request({}, milliseconds(5'000)));
}

// Without this, a waiting request of a client that is gone would hold its connection until its time is over.
TEST_F(TlsTest, AHangUpIsNoticedWhileAHandlerWorks) {
  for (const bool plain : {false, true}) {
    LongWork work;
    const Running serving = serve_tcp(work.handler(), {}, plain);
    ClientOptions options = to_server();
    options.tls = !plain;
    {
      HttpClient http(options);
      // Gives up, and closes its connection.
      EXPECT_EQ(http.request({}, milliseconds(200)).error().reason, "client.timeout");
    }
    EXPECT_EQ(work.cancelled.take(), 1);
    work.waiting.take();
    EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  }
}

// Without this, whoever says one byte too much before it goes would hold its connection for as long as a
// handler works: with a log that is followed, for ever.
TEST_F(TlsTest, AHangUpIsNoticedBehindTheNextRequest) {
  for (const bool plain : {false, true}) {
    LongWork work;
    const Running serving = serve_tcp(work.handler(), {}, plain);
    for (const bool at_once : {false, true}) {
      const int fd = dial();
      std::optional<Client> client;
      if (!plain) client.emplace(fd);
      const auto say = [&](const std::string& text) {
        const auto length = static_cast<ssize_t>(text.size());
        return (plain ? ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) : client->say(text)) == length;
      };
      const std::string request = "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n";
      ASSERT_TRUE(say(at_once ? request + "G" : request));
      const Responder responder = work.waiting.take();
      if (!at_once) {
        ASSERT_TRUE(say("G"));
      }
      std::this_thread::sleep_for(milliseconds(50));
      EXPECT_TRUE(work.cancelled.empty());
      close(fd);
      EXPECT_EQ(work.cancelled.take(), 1);
      EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
    }
  }
}

// Without this, a peer that is nobody yet could have the thread that serves everybody make keys, as fast as
// it can ask.
TEST_F(TlsTest, NewKeysHaveAnEnd) {
  const Running serving = serve_tcp(echo);
  const int fd = dial();
  Client client(fd);
  ASSERT_EQ(client.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 27);
  EXPECT_TRUE(client.hear().starts_with("HTTP/1.1 200"));
  int renewed = 0;
  while (renewed < 10'000 && client.renew_keys()) ++renewed;
  EXPECT_GE(renewed, 8) << "some are as TLS has it";
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  close(fd);
}

// Without this, what is no greeting would use up the pace of those that are.
TEST_F(TlsTest, OnlyAGreetingIsAHandshake) {
  ServerLimits limits;
  limits.handshakes_per_second = 1;
  const Running serving = serve_tcp(echo, limits);
  for (int i = 0; i < 50; ++i) {
    const int fd = dial();
    const char record[] = {0x16, 0x03, 0x01, 0x00, 0x01, 0x01};
    ASSERT_EQ(::send(fd, record, sizeof record, MSG_NOSIGNAL), ssize_t{sizeof record});
    char byte = 0;
    EXPECT_LE(recv(fd, &byte, 1, 0), 0);
    close(fd);
  }
  EXPECT_TRUE(HttpClient(to_server()).request({}, milliseconds(5'000)));
}

// Without this, reading ahead for a hang-up would swallow the next request.
TEST_F(TlsTest, RequestsThatComeEarlyAreKept) {
  Mailbox<std::pair<std::string, Responder>> waiting;
  const Running serving = serve_tcp(
      [&](const Request& request, Responder responder) { waiting.put({request.path, std::move(responder)}); },
      {}, true);
  const int fd = dial();
  const auto say = [fd](const std::string& text) {
    return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0;
  };
  ASSERT_TRUE(say("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  auto first = waiting.take();
  ASSERT_TRUE(say("GET /2 HTTP/1.1\r\nHo"));
  ASSERT_TRUE(say("st: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(first.first, "/1");
  first.second.send({});
  for (const char* const path : {"/2", "/3"}) {
    auto next = waiting.take();
    EXPECT_EQ(next.first, path);
    next.second.send({});
  }
  close(fd);
}

// Without this, a wrong file would show as a daemon that cannot be reached, or as a puzzle of the library's.
TEST_F(TlsTest, WrongFilesAreNamedWithTheRemedy) {
  authority.issue(file("c2.pem"), file("k2.pem"), "DNS:localhost");
  std::ofstream(file("empty.pem")).flush();
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);  // at which a start would wait for ever
  std::ofstream(file("text.pem")) << "no certificate\n";
  chmod(file("empty.pem").c_str(), 0600);
  chmod(file("text.pem").c_str(), 0600);
  {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    Authority::write_key(file("locked.pem"), key.get(), "secret");
  }
  struct Case {
    const char* certificate;
    const char* key;
    const char* reason;
    const char* names;
  };
  for (const Case& wrong : {Case{"none.pem", "k.pem", "net.tls.unreadable", "none.pem"},
                            Case{"c.pem", "none.pem", "net.tls.unreadable", "none.pem"},
                            Case{".", "k.pem", "net.tls.unreadable", "certificate"},
                            Case{"pipe", "k.pem", "net.tls.unreadable", "it is a pipe"},
                            Case{"c.pem", "pipe", "net.tls.unreadable", "it is a pipe"},
                            Case{"empty.pem", "k.pem", "net.tls.certificate.invalid", "empty.pem"},
                            Case{"text.pem", "k.pem", "net.tls.certificate.invalid", "text.pem"},
                            Case{"c.pem", "text.pem", "net.tls.key.invalid", "text.pem"},
                            Case{"c.pem", "c.pem", "net.tls.key.exposed", "c.pem"},
                            Case{"c.pem", "locked.pem", "net.tls.key.invalid", "locked.pem"},
                            Case{"c.pem", "k2.pem", "net.tls.key.mismatch", "k2.pem"}}) {
    const auto loaded = load(wrong.certificate, wrong.key);
    ASSERT_FALSE(loaded) << wrong.certificate << ' ' << wrong.key;
    EXPECT_EQ(loaded.error().reason, wrong.reason) << loaded.error().to_string();
    EXPECT_NE(loaded.error().message.find(wrong.names), std::string::npos) << loaded.error().message;
    EXPECT_FALSE(loaded.error().hint.empty());
  }
  chmod(file("k.pem").c_str(), 0604);
  EXPECT_EQ(load().error().reason, "net.tls.key.exposed");
}

// Without this, a certificate that runs out would mean a restart, or a bad new file the end of the service.
TEST_F(TlsTest, FilesAreReadAgainAndABadOneChangesNothing) {
  const Running serving = serve_tcp(echo);
  HttpClient kept(to_server());
  ASSERT_TRUE(kept.request({}, milliseconds(5'000)));

  std::ofstream(file("c.pem")) << "half a certif";
  EXPECT_FALSE(context->reload());
  EXPECT_TRUE(HttpClient(to_server()).request({}, milliseconds(5'000)));

  authority.issue(file("c.pem"), file("k.pem"), "DNS:elsewhere.example");
  ASSERT_TRUE(context->reload());
  EXPECT_EQ(HttpClient(to_server()).request({}, milliseconds(5'000)).error().reason, "client.tls.untrusted");
  // Connections that are there go on.
  EXPECT_TRUE(kept.request({}, milliseconds(5'000)));
}

// Without this, a certificate out of its time would keep the daemon from its jobs as well.
TEST_F(TlsTest, ACertificateOutOfItsTimeIsServedAndRefusedByClients) {
  authority.issue(file("c.pem"), file("k.pem"), "IP:127.0.0.1", -7'200, -3'600);
  const Running serving = serve_tcp(echo);
  const auto answer = HttpClient(to_server()).request({}, milliseconds(5'000));
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("expired"), std::string::npos) << answer.error().message;
}

// Without this, "address already in use" would name neither the address nor what to do.
TEST_F(TlsTest, AnAddressThatIsTakenOrForeignIsNamed) {
  const Running serving = serve_tcp(echo, {}, true);
  TcpEndpoint same;
  same.port = server_->ports().front();
  ServerOptions options;
  options.endpoints = {same};
  const auto second = HttpServer::bind(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "net.address.in_use");
  EXPECT_NE(second.error().message.find("127.0.0.1:" + std::to_string(same.port)), std::string::npos);
  TcpEndpoint foreign;
  foreign.address = "192.0.2.1";
  options.endpoints = {foreign};
  EXPECT_EQ(HttpServer::bind(options).error().reason, "net.address.unavailable");
  TcpEndpoint word;
  word.address = "localhost";
  options.endpoints = {word};
  EXPECT_EQ(HttpServer::bind(options).error().reason, "net.address.invalid");
}

}  // namespace
}  // namespace tangram::net

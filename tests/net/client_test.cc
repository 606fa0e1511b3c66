#include "net/client.h"

#include <atomic>
#include <vector>

#include "net/listen.h"
#include "net/support.h"

namespace tangram::net {
namespace {

class ClientTest : public ServerFixture {};

// A server that answers each connection with fixed bytes, right or wrong, and closes or holds it.
class ScriptedServer {
 public:
  ScriptedServer(const std::string& path, std::vector<std::string> answers, bool close_after)
      : listener_(std::move(*Listener::open(UnixEndpoint{path, 0600, std::nullopt, std::nullopt}))) {
    thread_ = std::thread([this, answers = std::move(answers), close_after] {
      for (const std::string& answer : answers) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        poll(&waiting, 1, 10'000);
        const int fd = accept(listener_.fd(), nullptr, nullptr);
        if (fd < 0) return;
        ++accepted;
        char piece[4096];
        const ssize_t got = recv(fd, piece, sizeof piece, 0);
        const ssize_t sent = ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
        if (got < 0 || sent < 0) ++failures;
        if (close_after) {
          close(fd);
        } else {
          held_.push_back(fd);
        }
      }
    });
  }
  ~ScriptedServer() {
    thread_.join();
    for (const int fd : held_) close(fd);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::atomic<int> accepted{0};
  std::atomic<int> failures{0};

 private:
  Listener listener_;
  std::thread thread_;
  std::vector<int> held_;
};

// Without this, a user whose daemon is down would read "connection refused" and not know what to do.
TEST_F(ClientTest, SaysHowToStartADaemonThatIsAway) {
  const auto missing = client().request({}, milliseconds(1000));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kUnavailable);
  EXPECT_EQ(missing.error().reason, "client.unreachable");
  EXPECT_EQ(missing.error().hint, "start it");
  EXPECT_NE(missing.error().message.find(socket_path()), std::string::npos);

  EXPECT_EQ(HttpClient(to_socket(std::string(200, 'x'))).request({}, milliseconds(10)).error().reason,
            "client.unreachable");
}

// Without this, a command would hang for ever on a daemon that is stuck.
TEST_F(ClientTest, GivesUpAtItsDeadline) {
  Mailbox<Responder> waiting;
  const Running running =
      serve([&](const Request&, Responder responder) { waiting.put(std::move(responder)); });
  HttpClient http = client();
  const auto answer = http.request({}, milliseconds(100));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(answer.error().reason, "client.timeout");
}

// Without this, a stream that falls silent would look alive.
TEST_F(ClientTest, GivesUpOnASilentStream) {
  Mailbox<StreamWriter> writers;
  const Running serving = serve([&](const Request&, Responder responder) {
    StreamWriter writer = responder.stream({});
    writer.write("x");
    writers.put(std::move(writer));
  });
  std::string all;
  const auto answer = client().stream({}, milliseconds(5000), milliseconds(100), [&](std::string_view piece) {
    all += piece;
    return true;
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "client.timeout");
  EXPECT_EQ(all, "x");
}

// Without this, whoever waits on a stream could be stopped only by what the server does.
TEST_F(ClientTest, AnInterruptEndsACallThatWaits) {
  Mailbox<StreamWriter> writers;
  const Running serving = serve([&](const Request&, Responder responder) {
    StreamWriter writer = responder.stream({});
    writer.write("x");
    writers.put(std::move(writer));
  });
  Interrupt interrupt;
  ClientRequest request;
  request.interrupt = &interrupt;
  HttpClient http = client();
  std::thread later;
  const auto answer = http.stream(request, milliseconds(5000), milliseconds(0), [&](std::string_view) {
    later = std::thread([&] { interrupt.raise(); });
    return true;
  });
  later.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kAborted);
  EXPECT_EQ(answer.error().reason, "client.interrupted");
  EXPECT_EQ(http.request(request, milliseconds(5000)).error().reason, "client.interrupted") << "for good";
}

// Without this, `logs -f | head` could never end.
TEST_F(ClientTest, AStreamEndsWhenTheCallerHasEnough) {
  Mailbox<int> cancelled;
  Mailbox<StreamWriter> writers;
  const Running serving = serve([&](const Request&, Responder responder) {
    StreamWriter writer = responder.stream({});
    writer.on_cancel([&] { cancelled.put(1); });
    writer.write("x");
    writers.put(std::move(writer));
  });
  const auto answer =
      client().stream({}, milliseconds(5000), milliseconds(5000), [](std::string_view) { return false; });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  cancelled.take();
}

// Without this, a refused stream would be shown as if it were the log.
TEST_F(ClientTest, AnErrorAnswerToAStreamIsReturnedWhole) {
  const Running serving = serve([](const Request&, Responder responder) {
    Response response;
    response.status = 404;
    response.body = "no such job";
    responder.send(std::move(response));
  });
  const auto answer = client().stream({}, milliseconds(5000), milliseconds(5000), [](std::string_view) {
    ADD_FAILURE() << "not a piece of the stream";
    return true;
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "no such job");
}

// Without this, an answer of any size would be read into memory.
TEST_F(ClientTest, BoundsTheAnswer) {
  const Running serving = serve([](const Request&, Responder responder) {
    Response response;
    response.body = std::string(2000, 'x');
    responder.send(std::move(response));
  });
  ClientOptions options = to_socket(socket_path());
  options.body_bytes_max = 1000;
  HttpClient http(options);
  const auto answer = http.request({}, milliseconds(5000));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "client.answer.too_large");
}

// Without this, a name with a line break could smuggle a second request.
TEST_F(ClientTest, RefusesLineBreaksInARequest) {
  const Running serving = serve(echo);
  HttpClient http = client();
  const std::vector<ClientRequest> bad = {{Method::kGet, "/a b", {}, {}, ""},
                                          {Method::kGet, "/a\r\nX: 1", {}, {}, ""},
                                          {Method::kGet, "a", {}, {}, ""},
                                          {Method::kGet, "/", {}, {{"X", "1\r\nY: 2"}}, ""},
                                          {Method::kGet, "/", {}, {{"X\n", "1"}}, ""},
                                          {Method::kGet, "/", {}, {{"", "1"}}, ""}};
  for (const ClientRequest& request : bad) {
    const auto answer = http.request(request, milliseconds(1000));
    ASSERT_FALSE(answer) << request.path;
    EXPECT_EQ(answer.error().reason, "client.request.invalid");
  }
}

// Without this, an answer that was cut short would be taken for the whole.
TEST_F(ClientTest, TellsABrokenAnswerFromAWholeOne) {
  struct Case {
    std::string answer;
    std::string reason;
  };
  for (const Case& test :
       {Case{"", "client.connection_lost"}, Case{"HTTP/1.1 200 OK\r\nContent-Le", "client.connection_lost"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "client.connection_lost"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "client.connection_lost"},
        Case{"hello\r\n\r\n", "client.answer.invalid"},
        Case{"HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x'), "client.answer.invalid"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "client.answer.invalid"}}) {
    const ScriptedServer server(socket_path(), {test.answer}, true);
    const auto answer = client().request({Method::kPost, "/", {}, {}, ""}, milliseconds(5000));
    ASSERT_FALSE(answer) << test.answer;
    EXPECT_EQ(answer.error().reason, test.reason) << test.answer.substr(0, 80);
  }
}

// Without this, the end of an old-style answer without a length would look like an error.
TEST_F(ClientTest, ReadsToTheEndOfTheConnectionAndSkipsInterimAnswers) {
  const ScriptedServer server(socket_path(),
                              {"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\n\r\nall of it"}, true);
  const auto answer = client().request({}, milliseconds(5000));
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->body, "all of it");
}

// Without this, a daemon that restarts between two calls would make the second fail.
TEST_F(ClientTest, ANewConnectionReplacesOneThatTheServerClosed) {
  const Running serving = serve(echo);
  HttpClient http = client();
  ASSERT_TRUE(http.request({}, milliseconds(5000)));
  server_.reset();
  const Running again = serve(echo);
  const auto answer = http.request({Method::kPost, "/", {}, {}, "again"}, milliseconds(5000));
  ASSERT_TRUE(answer) << answer.error().to_string();
}

// Without this, a submit could run twice: it may be repeated only when the server can tell.
TEST_F(ClientTest, RepeatsOnAClosedConnectionOnlyWhatIsSafe) {
  const std::string first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  struct Case {
    ClientRequest request;
    bool repeated;
  };
  for (const Case& test :
       {Case{{Method::kGet, "/", {}, {}, ""}, true}, Case{{Method::kPost, "/", {}, {}, "b"}, false},
        Case{{Method::kPost, "/", {}, {{"Idempotency-Key", "k"}}, "b"}, true}}) {
    // Answers once, then takes a second request on the same connection and closes it unheard.
    Listener listener =
        std::move(*Listener::open(UnixEndpoint{socket_path(), 0600, std::nullopt, std::nullopt}));
    HttpClient http = client();
    std::atomic<int> connections{0};
    std::thread server([&] {
      for (int i = 0; i < (test.repeated ? 2 : 1); ++i) {
        pollfd waiting{listener.fd(), POLLIN, 0};
        poll(&waiting, 1, 10'000);
        const int fd = accept(listener.fd(), nullptr, nullptr);
        ASSERT_GE(fd, 0);
        ++connections;
        char piece[4096];
        EXPECT_GT(recv(fd, piece, sizeof piece, 0), 0);
        EXPECT_GT(::send(fd, first.data(), first.size(), MSG_NOSIGNAL), 0);
        if (i == 0) {
          EXPECT_GT(recv(fd, piece, sizeof piece, 0), 0);
        }
        close(fd);
      }
    });
    ASSERT_TRUE(http.request({}, milliseconds(5000)));
    const auto second = http.request(test.request, milliseconds(5000));
    server.join();
    EXPECT_EQ(second.has_value(), test.repeated);
    EXPECT_EQ(connections, test.repeated ? 2 : 1);
    if (!second) {
      EXPECT_EQ(second.error().reason, "client.connection_lost");
    }
  }
}

}  // namespace
}  // namespace tangram::net

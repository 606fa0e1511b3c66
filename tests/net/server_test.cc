#include "net/server.h"

#include <sys/stat.h>

#include <atomic>
#include <vector>

#include "net/support.h"

namespace tangram::net {
namespace {

using Status = StreamWriter::Status;

std::string status_line(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}

class ServerTest : public ServerFixture {};

// Without this, nothing works.
TEST_F(ServerTest, HandsOverTheRequestAndItsAnswer) {
  const Running serving = serve(echo);
  HttpClient http = client();
  const auto answer =
      http.request({Method::kPost, "/v1/x%2Fy", Query{{"k", "a b"}}, {}, "body"}, milliseconds(5000));
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->headers.get("content-type"), "text/plain");
  EXPECT_EQ(answer->body, "POST /v1/x%2Fy?k=a%20b body");
}

// Without this, the daemon would not know whom it serves.
TEST_F(ServerTest, TellsThePeerFromTheKernel) {
  const Running serving = serve([](const Request& request, Responder responder) {
    ASSERT_TRUE(request.peer.process);
    Response response;
    response.body = std::to_string(request.peer.process->uid) + " " +
                    std::to_string(request.peer.process->pid) + " " +
                    std::to_string(request.peer.process->gid);
    responder.send(std::move(response));
  });
  const auto answer = client().request({}, milliseconds(5000));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body,
            std::to_string(geteuid()) + " " + std::to_string(getpid()) + " " + std::to_string(getegid()));
}

// Without this, a submit of 10 MiB would fill the memory, or its sender would see a reset instead of the
// reason.
TEST_F(ServerTest, BodyOverTheLimitIsRefusedAndTheAnswerArrives) {
  ServerLimits limits;
  limits.body_bytes_max = 1 << 20;
  std::atomic<int> calls{0};
  const Running serving = serve(
      [&](const Request&, Responder responder) {
        ++calls;
        responder.send({});
      },
      limits);
  const std::string body(10 << 20, 'x');

  const auto answer = client().request({Method::kPost, "/", {}, {}, body}, milliseconds(10'000));
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(answer->headers.get("Content-Type"), "application/problem+json");
  EXPECT_NE(answer->body.find("\"reason\":\"http.body.too_large\""), std::string::npos);
  EXPECT_NE(answer->body.find("1048576 bytes"), std::string::npos);

  // A plain client that sends everything before it reads.
  RawClient raw(socket_path());
  EXPECT_TRUE(raw.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760\r\n\r\n" + body));
  EXPECT_EQ(status_line(raw.read_to_end()), "HTTP/1.1 413 Payload Too Large");

  // Without a Content-Length the limit is met on the way.
  RawClient chunked(socket_path());
  std::string text = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) text += "10000\r\n" + std::string(0x10000, 'y') + "\r\n";
  chunked.send(text + "0\r\n\r\n");
  EXPECT_EQ(status_line(chunked.read_to_end()), "HTTP/1.1 413 Payload Too Large");
  EXPECT_EQ(calls, 0);
}

// Without this, curl would send a large body only to have it refused.
TEST_F(ServerTest, ExpectContinueIsAnsweredBeforeTheBody) {
  ServerLimits limits;
  limits.body_bytes_max = 100;
  const Running serving = serve(echo, limits);
  RawClient good(socket_path());
  good.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(status_line(good.read_until_contains("\r\n\r\n")), "HTTP/1.1 100 Continue");
  good.send("hi");
  EXPECT_NE(good.read_until_contains("hi").find("POST /a? hi"), std::string::npos);

  RawClient bad(socket_path());
  bad.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n");
  EXPECT_EQ(status_line(bad.read_until_contains("too_large")), "HTTP/1.1 413 Payload Too Large");
}

// Without this, a chunked request (curl -T -) would be refused or cut.
TEST_F(ServerTest, ReadsAChunkedRequestInPieces) {
  const Running serving = serve(echo);
  RawClient raw(socket_path());
  for (const char* const piece : {"POST /c HTT", "P/1.1\r\nHost: x\r\nTransfer-Enc",
                                  "oding: chunked\r\n\r\n3\r", "\nabc\r\n2\r\nd", "e\r\n0\r\n\r", "\n"}) {
    ASSERT_TRUE(raw.send(piece));
  }
  EXPECT_NE(raw.read_until_contains("abcde").find("POST /c? abcde"), std::string::npos);
}

// Without this, a stranger could hold connections for ever by saying nothing, or one letter at a time.
TEST_F(ServerTest, CutsSlowHeadersAndHalfOpenConnections) {
  ServerLimits limits;
  limits.header_time = milliseconds(200);
  limits.idle_time = milliseconds(300);
  const Running serving = serve(echo, limits);
  RawClient silent(socket_path());
  RawClient slow(socket_path());
  RawClient idle(socket_path());
  ASSERT_TRUE(slow.send("GET / HT"));
  ASSERT_TRUE(idle.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(idle.read_until_contains("GET /1").find("200 OK"), std::string::npos);
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ(slow.read_to_end(), "");
  idle.read_to_end();
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

// Without this, a body that never comes would hold its connection for ever.
TEST_F(ServerTest, CutsASlowBody) {
  ServerLimits limits;
  limits.body_time = milliseconds(200);
  const Running serving = serve(echo, limits);
  RawClient raw(socket_path());
  ASSERT_TRUE(raw.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(raw.read_to_end(), "");
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

// Without this, garbage on the socket could bring the daemon down or be taken for a request.
TEST_F(ServerTest, AnswersGarbageWith400) {
  const Running serving = serve(echo);
  const std::string zeros(1000, '\0');
  for (const std::string& text :
       {std::string("\x16\x03\x01\x02hello\r\n\r\n"), zeros, std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string("GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        std::string("GET /?a=%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        std::string(
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n")}) {
    RawClient raw(socket_path());
    raw.send(text);
    raw.half_close();
    EXPECT_EQ(status_line(raw.read_to_end()), "HTTP/1.1 400 Bad Request") << text;
  }
  EXPECT_TRUE(client().request({}, milliseconds(5000)));
}

// Without this, an endless header would fill the memory.
TEST_F(ServerTest, RefusesALongHeader) {
  const Running serving = serve(echo);
  RawClient raw(socket_path());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n");
  EXPECT_EQ(status_line(raw.read_to_end()), "HTTP/1.1 431 Request Header Fields Too Large");
}

// Without this, answers to pipelined requests could come in the wrong order or run side by side.
TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  const Running serving = serve([&](const Request& request, const Responder& responder) {
    most = std::max(most.load(), ++running);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // time for another to begin
    --running;  // before the answer, which lets the next begin
    echo(request, responder);
  });
  RawClient raw(socket_path());
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += "POST /" + std::to_string(i) + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n.";
  }
  ASSERT_TRUE(raw.send(text));
  const std::string all = raw.read_until_contains("POST /49/");
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = all.find("POST /" + std::to_string(i) + "/", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_EQ(most, 1);
}

// Without this, "printf 'GET /...' | nc -U" would get nothing: half-close is legal HTTP.
TEST_F(ServerTest, AnswersAfterTheClientHalfCloses) {
  Mailbox<Responder> waiting;
  const Running running =
      serve([&](const Request&, Responder responder) { waiting.put(std::move(responder)); });
  RawClient raw(socket_path());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  raw.half_close();
  Response late;
  late.body = "late";
  waiting.take().send(late);
  EXPECT_NE(raw.read_to_end().find("late"), std::string::npos);
}

// Without this, a HEAD request would be followed by a body that the client takes for the next answer.
TEST_F(ServerTest, HeadAnd204HaveNoBody) {
  const Running serving = serve([](const Request& request, Responder responder) {
    Response response;
    response.status = request.path == "/none" ? 204 : 200;
    response.body = "hello";
    responder.send(std::move(response));
  });
  HttpClient http = client();
  const auto head = http.request({Method::kHead, "/", {}, {}, ""}, milliseconds(5000));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.get("Content-Length"), "5");
  EXPECT_EQ(head->body, "");
  const auto none = http.request({Method::kGet, "/none", {}, {}, ""}, milliseconds(5000));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->body, "");
  EXPECT_FALSE(none->headers.get("Content-Length"));
}

// Without it HEAD on a stream would hold a connection for ever, or be followed by bytes that the client takes
// for the next answer.
TEST_F(ServerTest, HeadOfAStreamEndsWithItsHead) {
  Mailbox<StreamWriter> writers;
  const Running serving = serve([&](const Request& request, Responder responder) {
    if (request.path != "/stream") return echo(request, responder);
    StreamWriter writer = responder.stream({200, {{"X-Stream", "yes"}}, "begin"});
    writer.write("more");
    writers.put(std::move(writer));
  });
  RawClient raw(socket_path());
  raw.send(
      "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = raw.read_to_end();
  EXPECT_NE(answers.find("X-Stream: yes"), std::string::npos) << answers;
  EXPECT_EQ(answers.find("begin"), std::string::npos) << answers;
  EXPECT_NE(answers.find("\r\n\r\nHTTP/1.1 200 OK"), std::string::npos) << answers;
  const StreamWriter writer = writers.take();
  EXPECT_TRUE(eventually([&] { return writer.closed(); }))
      << "whoever writes the stream learns that it ended";
}

// Without this, a bug in one handler would take the daemon down, or leave its client waiting for ever.
TEST_F(ServerTest, AHandlerThatThrowsOrForgetsGives500) {
  const Running serving = serve([](const Request& request, const Responder& responder) {
    if (request.path == "/throw") throw std::runtime_error("boom");
    if (request.path == "/odd") throw 7;
    if (request.path == "/forget") return;
    echo(request, responder);
  });
  HttpClient http = client();
  for (const char* const path : {"/throw", "/odd", "/forget"}) {
    const auto answer = http.request({Method::kGet, path, {}, {}, ""}, milliseconds(5000));
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 500);
    EXPECT_EQ(answer->body.find("boom"), std::string::npos);
  }
  EXPECT_EQ(http.request({}, milliseconds(5000))->status, 200);
}

// Without this, a handler that answers twice would shift every later answer of the connection.
TEST_F(ServerTest, ASecondAnswerIsDropped) {
  const Running serving = serve([](const Request& request, const Responder& responder) {
    echo(request, responder);
    Response second;
    second.body = "second";
    Responder(responder).send(second);
    EXPECT_EQ(Responder(responder).stream({}).write("third"), Status::kClosed);
  });
  HttpClient http = client();
  for (const char* const path : {"/1", "/2"}) {
    const auto answer = http.request({Method::kGet, path, {}, {}, ""}, milliseconds(5000));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, std::string("GET ") + path + "? ");
  }
}

// Without this, the log would hold what a client wrote into a path: a token, perhaps.
TEST_F(ServerTest, TheLogOfAFailureNamesTheHandlerAlone) {
  testing::internal::CaptureStderr();
  {
    const Running serving = serve([](const Request&, const Responder&) {});
    HttpClient http = client();
    for (const char* const path : {"/v1/jobs/%74gt_secret", "/tgt_1_0123456789abcdef", "/v1"}) {
      EXPECT_EQ(http.request({Method::kGet, path, {}, {}, ""}, milliseconds(5000))->status, 500);
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("GET /v1/jobs…:"), std::string::npos) << log;
  EXPECT_NE(log.find("GET /v1:"), std::string::npos) << log;
  EXPECT_EQ(log.find("secret"), std::string::npos) << log;
  EXPECT_EQ(log.find("abcdef"), std::string::npos) << log;
}

// Without this, text of a user in a header could forge a second answer.
TEST_F(ServerTest, LeavesOutAHeaderWithALineBreak) {
  const Running serving = serve([](const Request&, Responder responder) {
    Response response;
    response.headers.set("X-Good", "1");
    response.headers.set("X-Bad", "1\r\nX-Forged: 1");
    responder.send(std::move(response));
  });
  const auto answer = client().request({}, milliseconds(5000));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->headers.get("X-Good"));
  EXPECT_FALSE(answer->headers.get("X-Bad"));
  EXPECT_FALSE(answer->headers.get("X-Forged"));
}

// Without this, a few waiting clients would stop the service: long polls must hold no thread.
TEST_F(ServerTest, LongPollsHoldNoThread) {
  Mailbox<Responder> waiting;
  const Running serving = serve([&](const Request& request, Responder responder) {
    if (request.path == "/wait") {
      waiting.put(std::move(responder));
    } else {
      echo(request, std::move(responder));
    }
  });
  constexpr int kPolls = 40;
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  HttpClient http = client();
  threads.reserve(kPolls);
  for (int i = 0; i < kPolls; ++i) {
    threads.emplace_back([&] {
      const auto answer = http.request({Method::kGet, "/wait", {}, {}, ""}, milliseconds(10'000));
      if (answer && answer->body == "done") ++answered;
    });
  }
  std::vector<Responder> responders;
  responders.reserve(kPolls);
  for (int i = 0; i < kPolls; ++i) responders.push_back(waiting.take());
  EXPECT_TRUE(http.request({}, milliseconds(5000)));
  EXPECT_EQ(answered, 0);
  for (Responder& responder : responders) {
    Response done;
    done.body = "done";
    responder.send(std::move(done));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, kPolls);
}

// Without this, the waiter of a client that is gone would stay for ever.
TEST_F(ServerTest, ALongPollHearsThatItsClientHasGone) {
  Mailbox<int> cancelled;
  Mailbox<int> again;
  Mailbox<Responder> waiting;
  const Running serving = serve([&](const Request&, Responder responder) {
    responder.on_cancel([&] { cancelled.put(1); });
    waiting.put(std::move(responder));
  });
  RawClient raw(socket_path());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Responder responder = waiting.take();
  EXPECT_TRUE(cancelled.empty());
  raw.hang_up();
  cancelled.take();
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  responder.on_cancel([&] { again.put(1); });
  again.take();
  responder.send({});
}

// Without this, `logs -f` would show nothing until the job ends.
TEST_F(ServerTest, AStreamArrivesPieceByPiece) {
  Mailbox<StreamWriter> writers;
  const Running serving = serve([&](const Request&, Responder responder) {
    Response head;
    head.headers.set("Content-Type", "text/event-stream");
    head.body = "first";
    writers.put(responder.stream(std::move(head)));
  });
  Mailbox<std::string> pieces;
  HttpClient http = client();
  std::thread reader([&] {
    const auto answer =
        http.stream({}, milliseconds(5000), milliseconds(10'000), [&](std::string_view piece) {
          pieces.put(std::string(piece));
          return true;
        });
    pieces.put(answer ? "end " + std::to_string(answer->status) : answer.error().reason);
  });
  StreamWriter writer = writers.take();
  EXPECT_EQ(pieces.take(), "first");
  EXPECT_EQ(writer.write("second"), Status::kTaken);
  EXPECT_EQ(pieces.take(), "second");
  EXPECT_EQ(writer.write("third"), Status::kTaken);
  writer.finish();
  EXPECT_EQ(writer.write("late"), Status::kClosed);
  EXPECT_EQ(pieces.take(), "third");
  EXPECT_EQ(pieces.take(), "end 200");
  reader.join();
  EXPECT_TRUE(eventually([&] { return server_->connections() == 1; }));  // kept for the next request
}

// Without this, a reader would take the part of a text that it was given for all of it.
TEST_F(ServerTest, AStreamThatIsBrokenOffIsNotWhole) {
  const Running serving = serve([](const Request&, Responder responder) {
    StreamWriter writer = responder.stream({200, {}, "begin"});
    EXPECT_EQ(writer.write(" and more"), Status::kTaken);
    writer.break_off();
    EXPECT_TRUE(writer.closed());
  });
  std::string seen;
  const auto answer =
      client().stream({}, milliseconds(5000), milliseconds(5000), [&](std::string_view piece) {
        seen += piece;
        return true;
      });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "client.connection_lost");
  EXPECT_EQ(seen, "begin and more");
}

// Without this, a reader that does not read would fill the memory with what it does not take.
TEST_F(ServerTest, ASlowReaderIsPushedBackAndThenCut) {
  ServerLimits limits;
  limits.stream_buffer_bytes_max = std::size_t{64} * 1024;
  limits.stall_time = milliseconds(500);
  Mailbox<StreamWriter> writers;
  Mailbox<int> writable;
  const Running running =
      serve([&](const Request&, Responder responder) { writers.put(responder.stream({})); }, limits);
  RawClient raw(socket_path());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  StreamWriter writer = writers.take();

  const std::string chunk(std::size_t{16} * 1024, 'z');
  std::size_t taken = 0;
  Status status = Status::kTaken;
  for (int full = 0; full < 1000 && status != Status::kClosed;) {
    status = writer.write(chunk);
    if (status == Status::kTaken) taken += chunk.size();
    if (status != Status::kFull) continue;
    ++full;
    writer.on_writable([&] { writable.put(1); });
    writable.take();
  }
  EXPECT_EQ(status, Status::kClosed);
  EXPECT_LT(taken, 4U << 20);
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

// Without this, back-pressure could lose or repeat a piece.
TEST_F(ServerTest, BackPressureKeepsEveryByte) {
  ServerLimits limits;
  limits.stream_buffer_bytes_max = std::size_t{8} * 1024;
  std::function<void(StreamWriter, int)> pump = [&pump](StreamWriter writer, int next) {
    while (next < 20'000) {
      const Status status = writer.write(std::to_string(next) + "\n");
      if (status == Status::kClosed) return;
      if (status == Status::kFull) {
        StreamWriter copy = writer;
        copy.on_writable([&pump, writer = std::move(writer), next] { pump(writer, next); });
        return;
      }
      ++next;
    }
  };
  const Running running =
      serve([&](const Request&, Responder responder) { pump(responder.stream({}), 0); }, limits);
  std::string expected;
  for (int i = 0; i < 20'000; ++i) expected += std::to_string(i) + "\n";
  std::string all;
  const auto answer =
      client().stream({}, milliseconds(5000), milliseconds(5000), [&](std::string_view piece) {
        all += piece;
        return true;
      });
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(all, expected);
}

// Without this, a producer would go on for a client that is gone.
TEST_F(ServerTest, AStreamHearsThatItsClientHasGone) {
  Mailbox<StreamWriter> writers;
  Mailbox<int> cancelled;
  const Running serving = serve([&](const Request&, Responder responder) {
    StreamWriter writer = responder.stream({});
    writer.on_cancel([&] { cancelled.put(1); });
    writers.put(std::move(writer));
  });
  RawClient raw(socket_path());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  StreamWriter writer = writers.take();
  raw.read_until_contains("\r\n\r\n");
  EXPECT_FALSE(writer.closed());
  raw.hang_up();
  cancelled.take();
  EXPECT_TRUE(eventually([&] { return writer.closed(); }));
  EXPECT_EQ(writer.write("x"), Status::kClosed);
}

// Without this, an HTTP/1.0 client would see chunk sizes between the lines of a log.
TEST_F(ServerTest, AStreamToAnOldClientEndsWithTheConnection) {
  const Running serving = serve([](const Request&, Responder responder) {
    StreamWriter writer = responder.stream({});
    writer.write("one");
    writer.write("two");
  });
  RawClient raw(socket_path());
  raw.send("GET / HTTP/1.0\r\n\r\n");
  const std::string all = raw.read_to_end();
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), "onetwo");
  EXPECT_EQ(all.find("chunked"), std::string::npos);
}

// Without this, one tenant could take all connections of the daemon.
TEST_F(ServerTest, OnePeerHasItsShareOfConnections) {
  ServerLimits limits;
  limits.connections_per_share_max = 5;
  const Running serving = serve(echo, limits);
  std::vector<std::unique_ptr<RawClient>> held;
  held.reserve(5);
  for (int i = 0; i < 5; ++i) held.push_back(std::make_unique<RawClient>(socket_path()));
  ASSERT_TRUE(eventually([&] { return server_->connections() == 5; }));
  const auto refused = client().request({}, milliseconds(5000));
  ASSERT_TRUE(refused) << refused.error().to_string();
  EXPECT_EQ(refused->status, 429);
  EXPECT_NE(refused->body.find("holds 5 connections"), std::string::npos);
  held.pop_back();
  EXPECT_TRUE(eventually([&] {
    const auto answer = client().request({}, milliseconds(5000));
    return answer && answer->status == 200;
  }));
}

// Without this, many connections at once could exhaust the descriptors of the daemon.
TEST_F(ServerTest, ManyConnectionsAreBoundedAndGoAway) {
  ServerLimits limits;
  limits.connections_max = 50;
  limits.connections_per_share_max = 1000;
  const Running serving = serve(echo, limits);
  std::vector<std::unique_ptr<RawClient>> held;
  held.reserve(300);
  for (int i = 0; i < 300; ++i) held.push_back(std::make_unique<RawClient>(socket_path()));
  ASSERT_TRUE(eventually([&] { return server_->connections() == 50; }));
  const auto answer = client().request({}, milliseconds(5000));
  EXPECT_TRUE(!answer || answer->status == 503);
  held.clear();
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_TRUE(eventually([&] {
    const auto later = client().request({}, milliseconds(5000));
    return later && later->status == 200;
  }));
}

// Without this, every command would pay a new connection, and load would show as refused connections.
TEST_F(ServerTest, ServesManyThreadsOverKeptConnections) {
  const Running serving = serve(echo);
  HttpClient http = client();
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string body = std::to_string(t) + ":" + std::to_string(i);
        const auto answer = http.request({Method::kPost, "/", {}, {}, body}, milliseconds(10'000));
        if (answer && answer->body == "POST /? " + body) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8 * 200);
  EXPECT_LE(server_->connections(), 8U);
}

// Without this, a stop would cut an answer that was about to leave, or wait for idle clients for ever.
TEST_F(ServerTest, StopLetsWorkFinishAndClosesIdleConnections) {
  Mailbox<Responder> waiting;
  Mailbox<int> cancelled;
  const Running serving = serve([&](const Request& request, Responder responder) {
    if (request.path != "/wait") return echo(request, std::move(responder));
    responder.on_cancel([&cancelled] { cancelled.put(1); });
    waiting.put(std::move(responder));
  });
  RawClient idle(socket_path());
  idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.read_until_contains("GET /");
  RawClient busy(socket_path());
  busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  Responder responder = waiting.take();

  std::thread stopper([&] { server_->stop(std::chrono::seconds(20)); });
  cancelled.take();
  Response last;
  last.body = "last words";
  responder.send(std::move(last));
  EXPECT_NE(busy.read_to_end().find("last words"), std::string::npos);
  busy.hang_up();
  idle.read_to_end();
  EXPECT_TRUE(idle.ended());
  stopper.join();
  EXPECT_FALSE(std::filesystem::exists(socket_path()));
}

// Without this, one client that never leaves would hold the stop for ever.
TEST_F(ServerTest, StopEndsAfterItsGrace) {
  Mailbox<Responder> waiting;
  const Running running =
      serve([&](const Request&, Responder responder) { waiting.put(std::move(responder)); });
  RawClient raw(socket_path());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Responder responder = waiting.take();
  server_->stop(milliseconds(50));
  EXPECT_EQ(raw.read_to_end(), "");
  responder.send({});  // nobody is there, and nothing bad happens
  server_->stop();
  server_.reset();
  responder.on_cancel([] { FAIL() << "no thread is left to call this"; });
}

class ListenTest : public ServerFixture {
 protected:
  static Result<std::unique_ptr<HttpServer>> listen(const std::string& path) {
    ServerOptions options;
    options.endpoints = {UnixEndpoint{path, 0600, std::nullopt, std::nullopt}};
    return HttpServer::start(std::move(options), echo);
  }
};

// Without this, a daemon that was killed could not start again.
TEST_F(ListenTest, ReplacesASocketThatNobodyAnswersOn) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path().data(), socket_path().size());
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(fd);
  ASSERT_TRUE(std::filesystem::exists(socket_path()));
  const Running serving = serve(echo);
  EXPECT_TRUE(client().request({}, milliseconds(5000)));
}

// Without this, a second daemon would take the socket away from the first.
TEST_F(ListenTest, RefusesASocketThatIsInUse) {
  const Running serving = serve(echo);
  const auto second = listen(socket_path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "net.address.in_use");
  EXPECT_NE(second.error().message.find(socket_path()), std::string::npos);
  EXPECT_TRUE(client().request({}, milliseconds(5000)));
}

// Without this, a wrong setting could delete somebody's file.
TEST_F(ListenTest, LeavesAFileAlone) {
  std::filesystem::create_directory(socket_path());
  const auto refused = listen(socket_path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "net.path.not_a_socket");
  EXPECT_TRUE(std::filesystem::is_directory(socket_path()));
}

// Without this, a long path would be cut and another file be made, or the message would say "invalid
// argument".
TEST_F(ListenTest, NamesAPathThatIsTooLong) {
  const auto refused = listen(directory_.file(std::string(120, 'p')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "net.path.too_long");
  EXPECT_NE(refused.error().message.find("1 to 100"), std::string::npos);
  const auto no_directory = listen(directory_.file("none/s"));
  ASSERT_FALSE(no_directory);
  EXPECT_EQ(no_directory.error().code, Code::kNotFound);
}

// Without this, anybody on the machine could connect to a socket that was meant for a group.
TEST_F(ListenTest, SetsModeAndOwner) {
  ServerOptions options;
  options.endpoints = {UnixEndpoint{socket_path(), 0640, uid_t{1234}, gid_t{4321}}};
  const auto server = HttpServer::start(std::move(options), echo);
  ASSERT_TRUE(server) << server.error().to_string();
  struct stat info{};
  ASSERT_EQ(stat(socket_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0640U);
  EXPECT_EQ(info.st_uid, 1234U);
  EXPECT_EQ(info.st_gid, 4321U);
}

}  // namespace
}  // namespace tangram::net

#include "net/framing.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "net/support.h"

namespace tangram::net {
namespace {

std::size_t answers_in(std::string_view text) {
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  std::size_t count = 0;
  for (std::size_t at = text.find(kLength); at != std::string_view::npos; at = text.find(kLength, at + 1))
    ++count;
  return count;
}

class FramingTest : public ServerFixture {};

struct Ambiguous {
  std::string fields;  // lines of the head, each with its end
  std::string status = "400 Bad Request";
  std::string version = "HTTP/1.1";
};

// Without this, a reader in front of the daemon and the daemon could see different requests in the same
// bytes, and whoever wrote them could put a request of his own into the connection of another.
TEST_F(FramingTest, ARequestWhoseEndIsNotBeyondDoubtIsRefusedAndNothingBehindItIsRead) {
  std::atomic<int> calls{0};
  const Running serving = serve([&](const Request& request, const Responder& responder) {
    ++calls;
    echo(request, responder);
  });
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string length = "Content-Length: 5\r\n";
  const std::vector<Ambiguous> all{
      {"Transfer-Encoding: gzip\r\n"},
      {"Transfer-Encoding: identity\r\n"},
      {"Transfer-Encoding:\r\n"},
      {"Transfer-Encoding: ,\r\n"},
      {"Transfer-Encoding: xchunked\r\n"},
      {"Transfer-Encoding: chunked;q=1\r\n"},
      {"Transfer-Encoding: \"chunked\"\r\n"},
      {"Transfer-Encoding: chunked, gzip\r\n"},
      {"Transfer-Encoding: chunked, chunked\r\n"},
      {"Transfer-Encoding: gzip, chunked\r\n", "501 Not Implemented"},
      {"Transfer-Encoding: gzip\r\n" + chunked, "501 Not Implemented"},
      {chunked + "Transfer-Encoding: gzip\r\n"},
      {chunked + chunked},
      {"Transfer-Encoding : chunked\r\n"},
      {"Transfer-Encoding:\r\n chunked\r\n"},
      {"Transfer-Encoding: chunked\r\n , gzip\r\n"},
      {"X: a\r\n\tb\r\n"},
      {"X:\r\n \r\n"},
      {" X: a\r\n"},
      {chunked, "400 Bad Request", "HTTP/1.0"},
      {length + chunked},
      {chunked + length},
      {"Transfer-Encoding: gzip\r\n" + length},
      {length + length},
      {length + "content-length: 6\r\n"},
      {"Content-Length: 5, 5\r\n"},
      {"Content-Length: 5,\r\n"},
      {"Content-Length: +5\r\n"},
      {"Content-Length: -5\r\n"},
      {"Content-Length: 0x5\r\n"},
      {"Content-Length: 5 5\r\n"},
      {"Content-Length:\r\n"},
      {"Content-Length : 5\r\n"},
      {"Content-Length: 18446744073709551621\r\n"},  // 5, if it wraps around
      {"Host: y\r\n" + length},
      {"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n" + length},
      {"Authorization: Bearer a\r\nauthorization: Bearer b\r\n" + length},
      {"Idempotency-Key: a\r\nIdempotency-Key: a\r\n" + length},
      {"Content-Type: text/plain\r\nContent-Type: application/json\r\n" + length},
      {"X: a\n"},
      {"X: a\r"},
      {"X: a\rb\r\n"},
      {"X: a\r\r\n"},
      {"X: a\nContent-Length: 5\r\n"},
      {std::string("X: a\0b\r\n", 8)},
  };
  for (const Ambiguous& one : all) {
    RawClient raw(socket_path());
    raw.send("POST /a " + one.version + "\r\nHost: x\r\n" + one.fields +
             "\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = raw.read_to_end();
    const std::string line = answer.substr(0, answer.find("\r\n"));
    EXPECT_EQ(line.substr(line.find(' ') + 1), one.status) << one.fields;
    EXPECT_TRUE(raw.ended()) << one.fields;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
    EXPECT_EQ(answers_in(answer), 1U) << answer;
  }
  EXPECT_EQ(calls, 0);
}

// Without it a proxy that routes by the host and the daemon could read one request differently.
TEST_F(FramingTest, ARequestOfHttp11NamesItsHost) {
  const Running serving = serve(echo);
  for (const auto& [head, status] :
       {std::pair{"GET / HTTP/1.1\r\n\r\n", "400 Bad Request"},
        std::pair{"GET / HTTP/1.1\r\nX-Host: x\r\n\r\n", "400 Bad Request"},
        std::pair{"GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", "200 OK"},
        std::pair{"GET / HTTP/1.0\r\n\r\n", "200 OK"}}) {
    RawClient raw(socket_path());
    raw.send(head);
    const std::string answer = raw.read_to_end();
    EXPECT_NE(answer.find(status), std::string::npos) << head << answer;
    EXPECT_EQ(answer.find("Host is missing") != std::string::npos, std::string(status).starts_with("400"))
        << answer;
  }
}

// Without it an assertion of the library's that does not hold would let any caller end the daemon.
TEST_F(FramingTest, ReadsALastChunkByteByByte) {
  const Running serving = serve(echo);
  RawClient raw(socket_path());
  raw.send("POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (const char byte : std::string("0\r\nX: y\r\n\r\n")) {
    raw.send(std::string(1, byte));
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_NE(raw.read_until_contains("POST /c?").find("200 OK"), std::string::npos);
}

// Without it a client of HTTP/1.0 would take the 100 for its answer, and one that says twice that it waits
// would wait for ever.
TEST_F(FramingTest, OnlyWhoWaitsForItIsToldToGoOn) {
  const Running serving = serve(echo);
  for (const auto& [fields, told] :
       {std::pair{"HTTP/1.0\r\nExpect: 100-continue\r\n", false},
        std::pair{"HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue, 100-continue\r\n", true},
        // An empty element of a list means nothing (RFC 9110, 5.6.1.2).
        std::pair{"HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue,\r\n", true},
        std::pair{"HTTP/1.1\r\nConnection: close\r\nExpect: 100-continue\r\nExpect: 100-Continue\r\n",
                  true}}) {
    RawClient raw(socket_path());
    raw.send(std::string("POST /a ") + fields + "Host: x\r\nContent-Length: 2\r\n\r\n");
    if (told) {
      EXPECT_TRUE(raw.read_until_contains("\r\n\r\n").starts_with("HTTP/1.1 100 Continue\r\n")) << fields;
    }
    raw.send("hi");
    const std::string answer = raw.read_to_end();
    EXPECT_EQ(answer.find("100 Continue") != std::string::npos, told) << fields << answer;
    EXPECT_EQ(answer.find("100 Continue"), answer.rfind("100 Continue")) << fields << answer;
    EXPECT_NE(answer.find(" 200 OK"), std::string::npos) << fields << answer;
  }
}

// Without it a client that waits for something else than 100 would wait until its time is over, and a proxy
// that forwards the body and one that does not would disagree on where the next request begins.
TEST_F(FramingTest, AnExpectationThatIsNotMetIsRefused) {
  std::atomic<int> calls{0};
  const Running serving = serve([&](const Request& request, const Responder& responder) {
    ++calls;
    echo(request, responder);
  });
  for (const auto& [fields, status] :
       {std::pair{"HTTP/1.1\r\nExpect: foo\r\n", "417 Expectation Failed"},
        std::pair{"HTTP/1.1\r\nExpect: 100-continue, foo\r\n", "417 Expectation Failed"},
        std::pair{"HTTP/1.1\r\nExpect: 100-continue\r\nExpect: foo\r\n", "417 Expectation Failed"},
        std::pair{"HTTP/1.1\r\nExpect:\r\nConnection: close\r\n", "200 OK"},
        std::pair{"HTTP/1.1\r\nExpect: 100-Continue\r\nConnection: close\r\n", "200 OK"},
        std::pair{"HTTP/1.0\r\nExpect: foo\r\n", "200 OK"}}) {
    calls = 0;
    RawClient raw(socket_path());
    raw.send(std::string("POST /a ") + fields + "Host: x\r\nContent-Length: 2\r\n\r\nhi");
    const std::string answer = raw.read_to_end();
    const bool refused = std::string(status).starts_with("417");
    EXPECT_NE(answer.find(status), std::string::npos) << fields << answer;
    EXPECT_EQ(answer.find("http.expectation.unsupported") != std::string::npos, refused) << answer;
    EXPECT_EQ(calls, refused ? 0 : 1) << fields;
    EXPECT_TRUE(raw.ended()) << fields;
  }
}

// Without it a client that was told of a proxy, or another server's health check, would be refused.
TEST_F(FramingTest, ATargetInAbsoluteFormMeansItsPath) {
  std::string seen;
  const Running serving = serve([&](const Request& request, const Responder& responder) {
    seen = request.path + "|" + request.query.encode();
    echo(request, responder);
  });
  for (const auto& [target, path] :
       {std::pair{"http://h:80/v1/jobs?a=b", "/v1/jobs|a=b"}, std::pair{"HTTPS://[::1]:1/x", "/x|"},
        std::pair{"http://h", "/|"}, std::pair{"http://h?a=b", "/|a=b"}}) {
    RawClient raw(socket_path());
    raw.send(std::string("GET ") + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(raw.read_to_end().find("200 OK"), std::string::npos) << target;
    EXPECT_EQ(seen, path) << target;
  }
  for (const std::string target : {"http:///x", "http://me@h/x", "ftp://h/x", "http:/x", "h:80"}) {
    RawClient raw(socket_path());
    raw.send("GET " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(raw.read_to_end().find("http.path.invalid"), std::string::npos) << target;
  }
}

// Without this, a chunk could hide a request in the same way.
TEST_F(FramingTest, AMalformedChunkEndsTheConnection) {
  std::atomic<int> calls{0};
  const Running serving = serve([&](const Request& request, const Responder& responder) {
    ++calls;
    echo(request, responder);
  });
  for (const std::string body :
       {"5\nabcde\r\n0\r\n\r\n", "5\r\nabcdef\r\n0\r\n\r\n", "5\r\nabcde\n0\r\n\r\n",
        "0x5\r\nabcde\r\n0\r\n\r\n", "+5\r\nabcde\r\n0\r\n\r\n", "-5\r\nabcde\r\n0\r\n\r\n",
        "\r\nabcde\r\n0\r\n\r\n", "10000000000000005\r\nabcde\r\n0\r\n\r\n",
        "5\r\nabcde\r\n0\r\nContent-Length: 5\r\n\r\n",
        "5\r\nabcde\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    RawClient raw(socket_path());
    raw.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body +
             "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = raw.read_to_end();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.1 413 ")) << body << answer;
    EXPECT_TRUE(raw.ended()) << body;
    EXPECT_EQ(answers_in(answer), 1U) << answer;
  }
  EXPECT_EQ(calls, 0);
}

// Without this, the strictness could refuse what clients send every day.
TEST_F(FramingTest, EveryPlainFormIsRead) {
  const Running serving = serve(echo);
  RawClient raw(socket_path());
  for (const std::string head :
       {"Content-Length: 5\r\n\r\nabcde", "Content-Length:5\r\n\r\nabcde",
        "Content-Length: \t005 \r\n\r\nabcde", "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
        "transfer-encoding:\tChunked \r\n\r\n5;a=b\r\nabcde\r\n0\r\nX: y\r\n\r\n",
        "TE: gzip\r\nX: \xc3\xa4\r\nContent-Length: 5\r\n\r\nabcde"}) {
    static int number = 0;
    const std::string path = "/" + std::to_string(++number);
    ASSERT_TRUE(raw.send("POST " + path + " HTTP/1.1\r\nHost: x\r\n" + head));
    EXPECT_NE(raw.read_until_contains("POST " + path + "?").find("POST " + path + "? abcde"),
              std::string::npos)
        << head;
  }
  RawClient old(socket_path());
  ASSERT_TRUE(old.send("POST /old HTTP/1.0\r\nContent-Length: 5\r\n\r\nabcde"));
  EXPECT_NE(old.read_to_end().find("POST /old? abcde"), std::string::npos);
}

std::string verdict_of(std::string_view text, std::size_t piece) {
  HeadScanner scanner;
  for (std::size_t end = 0; end < text.size();) {
    end = std::min(end + piece, text.size());
    const HeadScanner::Verdict verdict = scanner.scan(text.substr(0, end));
    if (verdict == HeadScanner::Verdict::kWhole) return "whole " + std::to_string(scanner.length());
    if (verdict == HeadScanner::Verdict::kMalformed) return std::string(scanner.fault());
  }
  return "more";
}

// Without this, a head that comes in pieces could be judged otherwise than one that comes at once.
TEST(HeadScanner, JudgesAlikeHoweverTheBytesCome) {
  const std::vector<std::pair<std::string, std::string>> all{
      {"GET / HTTP/1.1\r\nA: b\r\n\r\nrest", "whole 24"},
      {"GET / HTTP/1.1\r\n\r\n", "whole 18"},
      {"GET / HTTP/1.1\r\nA: b\r\n", "more"},
      {"GET / HTTP/1.1\r\nA: b\r", "more"},
      {"", "more"},
      {"GET / HTTP/1.1\nA: b\r\n\r\n", "a line feed without a carriage return"},
      {"GET / HTTP/1.1\rA: b\r\n\r\n", "a carriage return without a line feed"},
      {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "a line that goes on in the next one"},
      {"GET / HTTP/1.1\r\n\tc\r\n\r\n", "a line that goes on in the next one"},
      {"\r\nGET / HTTP/1.1\r\n\r\n", "an empty line in the place of a request"},
      {"\x16\x03\x01", "a control character"},
      {"GET / HTTP/1.1\r\nA: \x7f\r\n\r\n", "a control character"},
  };
  for (const auto& [text, verdict] : all) {
    for (const std::size_t piece : {1U, 2U, 3U, 1000U}) EXPECT_EQ(verdict_of(text, piece), verdict) << text;
  }
}

}  // namespace
}  // namespace tangram::net

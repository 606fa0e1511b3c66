// The bytes of a connection: the server's own session reads them from a socket, in two pieces (the first byte
// says where they part), and a second, simple reader here says what requests they are. The two must agree, or
// a proxy in front could be made to see other requests than the daemon does.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "input.h"
#include "net/connection.h"
#include "net/listen.h"
#include "require.h"

namespace tangram::fuzz {
namespace {

// Small, so that small inputs reach them; the times are never.
net::ServerLimits small_limits() {
  net::ServerLimits limits;
  limits.header_bytes_max = 1024;
  limits.body_bytes_max = 512;
  limits.stream_buffer_bytes_max = 256;
  limits.header_time = limits.body_time = limits.idle_time = limits.stall_time = limits.linger_time =
      std::chrono::minutes(5);
  return limits;
}

// ---- the second reader

// What a body of chunks says, taken off the front of `text`.
std::optional<std::string> take_chunks(std::string_view& text) {
  std::string body;
  while (true) {
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    std::size_t size = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + end, size, 16);
    if (problem != std::errc{} || stop == text.data()) return std::nullopt;
    text.remove_prefix(end + 2);
    if (size == 0) break;
    if (text.size() < size + 2 || text.substr(size, 2) != "\r\n") return std::nullopt;
    body += text.substr(0, size);
    text.remove_prefix(size + 2);
  }
  while (!text.starts_with("\r\n")) {  // trailers
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 2);
  }
  text.remove_prefix(2);
  return body;
}

// A head whose target cannot be read is answered without the handler; nothing of a body may follow it.
bool is_refused(std::string_view head) {
  const std::size_t begin = head.find(' ') + 1;
  const auto read = net::origin_form(head.substr(begin, head.find(' ', begin) - begin));
  if (!read) return true;
  const std::string_view target = *read;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const bool good = net::split_path(target.substr(0, mark)).has_value() &&
                    net::Query::parse(target.substr(std::min(mark + 1, target.size()))).has_value();
  return !good;
}

bool has_body(std::string_view head) {
  std::string lower(head);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower.find("\ntransfer-encoding:") != std::string::npos) return true;
  const std::size_t length = lower.find("\ncontent-length:");
  if (length == std::string::npos) return false;
  const std::size_t digit = lower.find_first_of("123456789", length);
  return digit != std::string::npos && digit < lower.find('\r', length);
}

// That `seen` is what `text` goes on with, after heads that were refused; takes it off.
void take_request(const net::Request& seen, std::string_view& text) {
  while (true) {
    const std::size_t end = text.find("\r\n\r\n");
    require(end != std::string_view::npos, "a request that is handled was sent");
    const std::string_view head = text.substr(0, end);
    if (!is_refused(head)) break;
    require(!has_body(head), "a body that nobody reads ends the connection");
    text.remove_prefix(end + 4);
  }
  const std::size_t blank = text.find(' ');
  require(blank != std::string_view::npos, "a request has a method");
  if (seen.method != net::Method::kOther) {
    require(text.substr(0, blank) == net::to_string(seen.method), "the method is the one that was sent");
  }
  const auto target = net::origin_form(text.substr(blank + 1, text.find(' ', blank + 1) - blank - 1));
  require(target && target->starts_with(seen.path), "the path is the one that was sent");
  const std::size_t head = text.find("\r\n\r\n");
  text.remove_prefix(head + 4);
  if (seen.headers.get("Transfer-Encoding")) {
    const auto body = take_chunks(text);
    require(body && *body == seen.body, "the chunks are those that were sent");
    return;
  }
  std::size_t length = 0;
  if (const auto told = seen.headers.get("Content-Length")) {
    const auto [stop, problem] = std::from_chars(told->data(), told->data() + told->size(), length);
    require(problem == std::errc{} && stop == told->data() + told->size(), "a length is a number");
  }
  require(text.substr(0, length) == seen.body, "the body is the one that was sent");
  text.remove_prefix(length);
}

// ---- the session

class Session {
 public:
  Session()
      : pool_(std::make_shared<net::HandlerPool>(2)),
        table_(limits_),
        context_{io_,
                 limits_,
                 pool_,
                 table_,
                 handshakes_,
                 [this](const auto& request, auto responder) { handle(request, responder); },
                 net::make_open_gate(),
                 [](auto) {}} {}

  std::vector<net::Request> serve(std::string_view first, std::string_view rest) {
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
            "a socket pair can be made");
    net::Arrival arrival{ends[0], net::peer_of(ends[0]), nullptr, 0};
    const auto place = table_.enter(*context_.gate->share_of(arrival.peer));
    arrival.ticket = place.ticket;
    auto connection = net::make_connection(context_, std::move(arrival));
    bool ended = false;
    connection->serve([&] {
      ended = true;
      table_.leave(place.ticket);
    });
    connection.reset();
    tell(ends[1], first);
    io_.poll();
    tell(ends[1], rest);
    (void)shutdown(ends[1], SHUT_WR);
    io_.restart();
    // What is answered must be read, or a server that waits for its reader would wait for ever.
    while (!ended) {
      io_.run_one();
      hear(ends[1]);
    }
    close(ends[1]);
    pool_->finish();
    require(table_.size() == 0 && table_.bytes_in_flight() == 0,
            "nothing is held for a connection that has ended");
    check_answers();
    return std::move(seen_);
  }

 private:
  static void tell(int fd, std::string_view bytes) {
    if (!bytes.empty()) (void)send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void hear(int fd) {
    char buffer[4096];
    ssize_t count = 0;
    while ((count = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
      answers_.append(buffer, static_cast<std::size_t>(count));
    }
  }

  void check_answers() const {
    require(answers_.empty() || answers_.starts_with("HTTP/1."), "an answer is one of HTTP");
    require(seen_.empty() || !answers_.empty(), "a request that was handled is answered");
  }

  void handle(const net::Request& request, net::Responder responder) {
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    }
    if (request.path.size() > 2 && request.path[1] == 's') {
      net::Response head;
      head.body = "first ";
      net::StreamWriter writer = responder.stream(std::move(head));
      (void)writer.write(request.body);
      writer.finish();
      return;
    }
    responder.send({200, {{"X-Path", request.path}}, request.body});
  }

  const net::ServerLimits limits_ = small_limits();
  boost::asio::io_context io_{1};
  std::shared_ptr<net::HandlerPool> pool_;
  net::ConnectionTable table_;
  net::HandshakePace handshakes_{1};  // nobody asks: these connections are plain
  net::ConnectionContext context_;
  std::mutex mutex_;
  std::vector<net::Request> seen_;
  std::string answers_;
};

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::fuzz;
  be_quiet();
  Input input(data, size);
  const std::size_t first_size = input.byte();
  std::string_view text = input.rest();
  Session session;
  const auto requests =
      session.serve(text.substr(0, first_size), text.substr(std::min(first_size, text.size())));
  for (const auto& request : requests) take_request(request, text);
  return 0;
}

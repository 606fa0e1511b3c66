#include "net/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "net/exchange.h"
#include "net/problem.h"

namespace tangram::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kChunkBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kLingerBytesMax = std::size_t{64} * 1024 * 1024;

Method to_method(http::verb verb) {
  // Not a switch: the library knows some thirty verbs, and -Wswitch-enum wants each of them named.
  for (const auto& [known, method] :
       {std::pair{http::verb::get, Method::kGet}, std::pair{http::verb::head, Method::kHead},
        std::pair{http::verb::post, Method::kPost}, std::pair{http::verb::put, Method::kPut},
        std::pair{http::verb::patch, Method::kPatch}, std::pair{http::verb::delete_, Method::kDelete},
        std::pair{http::verb::options, Method::kOptions}}) {
    if (verb == known) return method;
  }
  return Method::kOther;
}

bool safe_in_header(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

// A line break in a header would let whoever chose the value write a second answer.
void copy_headers(const Response& from, http::fields& to) {
  for (const Headers::Field& field : from.headers) {
    if (safe_in_header(field.name) && safe_in_header(field.value) && !field.name.empty()) {
      to.insert(field.name, field.value);
    } else {
      log::error("http: a header with a line break was left out of an answer");
    }
  }
}

Response problem_for(const error_code& error, const ServerLimits& limits) {
  if (error == http::error::body_limit) {
    return problem(413, "http.body.too_large",
                   "the request body is larger than " + std::to_string(limits.body_bytes_max) + " bytes",
                   "send less at once");
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return problem(431, "http.header.too_large",
                   "the request header is larger than " + std::to_string(limits.header_bytes_max) + " bytes");
  }
  return problem(400, "http.request.invalid", "this is not a valid HTTP/1.1 request: " + error.message());
}

class HttpConnection final : public Connection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(const ConnectionContext& context, int fd, Peer peer)
      : context_(context),
        limits_(context.limits),
        stream_(context.io),
        signal_(context.io),
        buffer_(limits_.header_bytes_max + kChunkBytesMax),
        peer_(std::move(peer)) {
    const int family = peer_.process ? AF_UNIX : peer_.address.rfind('[', 0) == 0 ? AF_INET6 : AF_INET;
    stream_.socket().assign(asio::generic::stream_protocol(family, 0), fd);
  }

  void serve(std::function<void()> on_end) override {
    spawn(std::move(on_end),
          [](HttpConnection& self) -> asio::awaitable<void> { return self.serve_requests(); });
  }

  void refuse(Response answer, std::function<void()> on_end) override {
    refusal_ = std::move(answer);
    spawn(std::move(on_end),
          [](HttpConnection& self) -> asio::awaitable<void> { return self.send_refusal(); });
  }

  void drain() override {
    draining_ = true;
    if (exchange_) {
      exchange_->cancel();
    } else if (!lingering_) {
      abort();
    }
  }

  void abort() override {
    aborted_ = true;
    if (exchange_) exchange_->close();
    stream_.close();
    signal();
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  void spawn(std::function<void()> on_end, asio::awaitable<void> (*run)(HttpConnection&)) {
    asio::co_spawn(
        context_.io, run(*this),
        [self = shared_from_this(), on_end = std::move(on_end)](const std::exception_ptr& failure) {
          self->end(failure);
          on_end();
        });
  }

  void end(const std::exception_ptr& failure) {
    if (failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const std::exception& error) {
        log::error(std::string("http: a connection failed: ") + error.what());
      }
    }
    if (exchange_) exchange_->close();
    exchange_.reset();
    stream_.close();
  }

  // ---- waking up

  void signal() {
    signaled_ = true;
    signal_.cancel();
  }

  asio::awaitable<void> wait_signal() {
    while (!signaled_) {
      error_code ignored;
      signal_.expires_at(asio::steady_timer::time_point::max());
      co_await signal_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    signaled_ = false;
  }

  // A hang-up (not a mere half-close, which HTTP allows) while a handler works: its answer has no reader.
  void watch_peer() {
    if (watching_) return;
    watching_ = true;
    stream_.socket().async_wait(asio::socket_base::wait_error,
                                [self = shared_from_this()](const error_code& error) {
                                  self->watching_ = false;
                                  if (error) return;
                                  self->peer_gone_ = true;
                                  if (self->exchange_) self->exchange_->cancel();
                                  self->signal();
                                });
  }

  // ---- reading

  asio::awaitable<void> serve_requests() {
    bool first = true;
    while (!draining_ && !aborted_) {
      Parser parser;
      parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes_max));
      parser.body_limit(limits_.body_bytes_max);
      const error_code error = co_await read_request(parser, first);
      if (error) {
        if (error.category() == http::make_error_code(http::error::bad_method).category() &&
            error != http::error::end_of_stream && error != http::error::partial_message) {
          co_await write_last(problem_for(error, limits_));
        }
        co_return;
      }
      first = false;
      const bool go_on = co_await answer_request(parser);
      if (!go_on) co_return;
    }
  }

  asio::awaitable<error_code> read_request(Parser& parser, bool first) {
    error_code error;
    if (buffer_.size() == 0) {
      stream_.expires_after(first ? limits_.header_time : limits_.idle_time);
      const std::size_t count = co_await stream_.async_read_some(
          buffer_.prepare(4096), asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return error;
      buffer_.commit(count);
    }
    stream_.expires_after(limits_.header_time);
    co_await http::async_read_header(stream_, buffer_, parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    if (error || parser.is_done()) co_return error;

    stream_.expires_after(limits_.body_time);
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue),
                                 asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return error;
    }
    co_await http::async_read(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

  // The request as the handler sees it, or the answer that it cannot be one.
  std::variant<Request, Response> to_request(Parser& parser) const {
    auto& message = parser.get();
    Request request;
    request.method = to_method(message.method());
    const std::string_view target(message.target().data(), message.target().size());
    const std::size_t mark = std::min(target.find('?'), target.size());
    request.path = target.substr(0, mark);
    auto segments = split_path(request.path);
    auto query = Query::parse(target.substr(std::min(mark + 1, target.size())));
    for (const Error* error : {segments ? nullptr : &segments.error(), query ? nullptr : &query.error()}) {
      if (error != nullptr) return problem(400, error->reason, error->message, error->hint);
    }
    request.segments = std::move(*segments);
    request.query = std::move(*query);
    for (const auto& field : message) {
      request.headers.add(std::string(field.name_string()), std::string(field.value()));
    }
    request.body = std::move(message.body());
    request.peer = peer_;
    return request;
  }

  // ---- answering

  // False: the connection has ended.
  asio::awaitable<bool> answer_request(Parser& parser) {
    version_ = parser.get().version();
    keep_alive_ = parser.keep_alive();
    head_only_ = parser.get().method() == http::verb::head;
    auto request = to_request(parser);
    if (auto* const refusal = std::get_if<Response>(&request)) {
      const bool written = co_await write_whole(std::move(*refusal));
      co_return co_await after_answer(written);
    }
    start_handler(std::move(std::get<Request>(request)));
    const bool written = co_await write_answer();
    exchange_->close();
    exchange_.reset();
    co_return co_await after_answer(written);
  }

  void start_handler(Request request) {
    exchange_ = std::make_shared<Exchange>(std::move(request), limits_.stream_buffer_bytes_max, context_.pool,
                                           [&io = context_.io, weak = weak_from_this()] {
                                             asio::post(io, [weak] {
                                               if (const auto self = weak.lock()) self->signal();
                                             });
                                           });
    stream_.expires_never();
    watch_peer();
    context_.pool->submit([exchange = exchange_, &handler = context_.handler] {
      // Held over the call, so that the log names the exception and not the handle that went with it.
      const Responder responder = make_responder(exchange);
      try {
        handler(exchange->request(), responder);
      } catch (const std::exception& error) {
        exchange->fail_unanswered(std::string("the handler threw: ") + error.what());
      } catch (...) {
        exchange->fail_unanswered("the handler threw something unknown");
      }
    });
  }

  // Waits for what the handler gives, and writes it. False: nothing more can be written.
  asio::awaitable<bool> write_answer() {
    bool streaming = false;
    while (!aborted_ && !peer_gone_) {
      Exchange::Output output = exchange_->take();
      if (output.head) {
        streaming = output.stream;
        const bool written = streaming ? co_await write_stream_head(std::move(*output.head))
                                       : co_await write_whole(std::move(*output.head));
        if (!written || !streaming) co_return written;
      }
      if (streaming && !output.data.empty()) {
        const bool written = co_await write_data(output.data);
        if (!written) co_return false;
      }
      if (output.finished) co_return co_await write_stream_end();
      stream_.expires_never();
      co_await wait_signal();
    }
    co_return false;
  }

  asio::awaitable<bool> write_whole(Response response) {
    http::response<http::string_body> message(http::int_to_status(static_cast<unsigned>(response.status)),
                                              version_);
    message.result(static_cast<unsigned>(response.status));
    copy_headers(response, message);
    message.keep_alive(keep_alive_ && !draining_);
    const bool has_body = response.status != 204 && response.status != 304;
    if (has_body) message.content_length(response.body.size());
    if (has_body && !head_only_) message.body() = std::move(response.body);
    http::response_serializer<http::string_body> serializer(message);
    while (!serializer.is_done()) {
      error_code error;
      stream_.expires_after(limits_.stall_time);
      co_await http::async_write_some(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return false;
    }
    keep_alive_ = keep_alive_ && message.keep_alive();
    co_return true;
  }

  asio::awaitable<bool> write_stream_head(Response head) {
    http::response<http::empty_body> message(http::int_to_status(static_cast<unsigned>(head.status)),
                                             version_);
    message.result(static_cast<unsigned>(head.status));
    copy_headers(head, message);
    chunked_ = version_ >= 11;
    if (!chunked_) keep_alive_ = false;
    message.keep_alive(keep_alive_ && !draining_);
    if (chunked_) message.chunked(true);
    http::response_serializer<http::empty_body> serializer(message);
    error_code error;
    stream_.expires_after(limits_.stall_time);
    co_await http::async_write_header(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  asio::awaitable<bool> write_data(const std::string& data) {
    if (head_only_) co_return true;
    for (std::size_t at = 0; at < data.size(); at += kChunkBytesMax) {
      const auto piece = asio::buffer(data.data() + at, std::min(kChunkBytesMax, data.size() - at));
      error_code error;
      stream_.expires_after(limits_.stall_time);
      if (chunked_) {
        co_await asio::async_write(stream_, http::make_chunk(piece),
                                   asio::redirect_error(asio::use_awaitable, error));
      } else {
        co_await asio::async_write(stream_, piece, asio::redirect_error(asio::use_awaitable, error));
      }
      if (error) co_return false;
    }
    co_return true;
  }

  asio::awaitable<bool> write_stream_end() {
    if (!chunked_ || head_only_) co_return true;
    error_code error;
    stream_.expires_after(limits_.stall_time);
    co_await asio::async_write(stream_, http::make_chunk_last(),
                               asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  // ---- ending

  asio::awaitable<bool> after_answer(bool written) {
    if (written && keep_alive_ && !draining_) co_return true;
    if (written) co_await linger();
    co_return false;
  }

  asio::awaitable<void> write_last(Response answer) {
    keep_alive_ = false;
    const bool written = co_await write_whole(std::move(answer));
    if (written) co_await linger();
  }

  asio::awaitable<void> send_refusal() { return write_last(std::move(refusal_)); }

  // Closing a socket that holds unread bytes resets it, and the peer would lose the answer. So what it still
  // sends is thrown away for a while, until it has seen the end of ours.
  asio::awaitable<void> linger() {
    lingering_ = true;
    error_code error;
    stream_.socket().shutdown(asio::socket_base::shutdown_send, error);
    stream_.expires_after(limits_.linger_time);
    std::string waste(kChunkBytesMax, '\0');
    std::size_t total = 0;
    while (!error && total < kLingerBytesMax) {
      total += co_await stream_.async_read_some(asio::buffer(waste),
                                                asio::redirect_error(asio::use_awaitable, error));
    }
  }

  const ConnectionContext& context_;
  const ServerLimits& limits_;
  beast::basic_stream<asio::generic::stream_protocol> stream_;
  asio::steady_timer signal_;
  beast::flat_buffer buffer_;
  const Peer peer_;
  Response refusal_;
  std::shared_ptr<Exchange> exchange_;  // of the request in work
  unsigned version_ = 11;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool chunked_ = true;
  bool signaled_ = false;
  bool watching_ = false;
  bool peer_gone_ = false;
  bool draining_ = false;
  bool lingering_ = false;
  bool aborted_ = false;
};

}  // namespace

std::shared_ptr<Connection> make_connection(const ConnectionContext& context, int fd, Peer peer) {
  return std::make_shared<HttpConnection>(context, fd, std::move(peer));
}

}  // namespace tangram::net

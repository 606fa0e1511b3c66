#include "net/connection.h"

#include <linux/sockios.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "net/deadline.h"
#include "net/exchange.h"
#include "net/framing.h"
#include "net/listen.h"
#include "net/problem.h"
#include "net/socket_stream.h"
#include "net/tls_greeting.h"

namespace tangram::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kChunkBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kFirstReadBytes = 4096;
constexpr std::size_t kLingerBytesMax = std::size_t{64} * 1024 * 1024;

// Of TLS 1.3, that a peer may ask for between two requests. Each costs the I/O thread as much as a small
// request, and no library asks before some hundred gigabytes.
constexpr int kNewKeysMax = 32;
// How often the kernel is asked whether a peer is still there that has said more than was asked of it.
constexpr std::chrono::seconds kHangUpLook{1};

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

Response too_large(std::size_t bytes_max) {
  return problem(413, "http.body.too_large",
                 "the request body is larger than " + std::to_string(bytes_max) + " bytes",
                 "send less at once");
}

// `fault`: what the head itself was found to be wrong in, or empty.
Response problem_for(const error_code& error, const ServerLimits& limits, std::string_view fault) {
  if (error == http::error::body_limit) return too_large(limits.body_bytes_max);
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return problem(431, "http.header.too_large",
                   "the request header is larger than " + std::to_string(limits.header_bytes_max) + " bytes");
  }
  return problem(
      400, "http.request.invalid",
      "this is not a valid HTTP/1.1 request: " + (fault.empty() ? error.message() : std::string(fault)),
      "use a client that speaks HTTP/1.1");
}

class HttpConnection final : public Connection, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(const ConnectionContext& context, Arrival arrival)
      : context_(context),
        limits_(context.limits),
        stream_(context.io),
        signal_(context.io),
        look_(context.io),
        deadline_(context.io),
        buffer_(limits_.header_bytes_max + kChunkBytesMax),
        peer_(std::move(arrival.peer)),
        tls_(std::move(arrival.tls)),
        ticket_(arrival.ticket) {
    const int family = is_local() ? AF_UNIX : peer_.address.starts_with('[') ? AF_INET6 : AF_INET;
    if (!is_local()) set_tcp_options(arrival.fd);
    stream_.socket().assign(boost::asio::generic::stream_protocol(family, 0), arrival.fd);
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
    close();
    signal();
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  bool is_local() const { return peer_.address.empty(); }

  void spawn(std::function<void()> on_end, asio::awaitable<void> (*run)(HttpConnection&)) {
    deadline_.start(weak_from_this(), [this] { cut(); });
    deadline_.set(limits_.header_time);
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
    end_exchange();
    deadline_.stop();
    close();
  }

  // Its time is over. What waits for a reader that takes nothing goes at once: after a mere close the kernel
  // would keep megabytes of it for minutes, however often such a reader comes back.
  void cut() {
    int unsent = 0;
    if (!is_local() && !lingering_ && ioctl(stream_.socket().native_handle(), SIOCOUTQ, &unsent) == 0 &&
        unsent > 0) {
      error_code ignored;
      stream_.socket().set_option(asio::socket_base::linger(true, 0), ignored);
    }
    abort();
  }

  void close() {
    error_code ignored;
    stream_.socket().close(ignored);
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

  // While a handler works: has its answer still a reader? On a Unix socket a hang-up says so, not a mere
  // half-close, which HTTP allows. On TCP a hang-up looks like a half-close, so both count; to see it under
  // TLS one has to read, and what comes is the beginning of the next request.
  void watch_peer() {
    if (!is_local()) {
      if (buffer_.size() == 0) {
        read_ahead();
      } else {
        look_for_hang_up();
      }
      return;
    }
    if (watching_) return;
    watching_ = true;
    stream_.socket().async_wait(asio::socket_base::wait_error,
                                [self = shared_from_this()](const error_code& error) {
                                  self->watching_ = false;
                                  if (!error) self->peer_has_gone();
                                });
  }

  // Behind the beginning of the next request, reading on would have no end.
  void look_for_hang_up() {
    if (looking_) return;
    looking_ = true;
    look_.expires_after(kHangUpLook);
    look_.async_wait([weak = weak_from_this()](const error_code& error) {
      const auto self = weak.lock();
      if (!self) return;
      self->looking_ = false;
      if (error || !self->exchange_) return;
      if (has_hung_up(self->stream_.socket().native_handle())) {
        self->peer_has_gone();
      } else {
        self->look_for_hang_up();
      }
    });
  }

  void peer_has_gone() {
    peer_gone_ = true;
    if (exchange_) exchange_->cancel();
    signal();
  }

  // Starts a read into the empty buffer that nobody waits for yet; does nothing when one is under way.
  void read_ahead() {
    if (reading_ahead_) return;
    reading_ahead_ = true;
    stream_.async_read_some(buffer_.prepare(kFirstReadBytes),
                            [self = shared_from_this()](const error_code& error, std::size_t count) {
                              self->reading_ahead_ = false;
                              self->read_error_ = error;
                              self->buffer_.commit(count);
                              if (error) {
                                self->peer_has_gone();
                              } else {
                                if (self->exchange_) self->look_for_hang_up();
                                self->signal();
                              }
                            });
  }

  // ---- reading

  asio::awaitable<void> serve_requests() {
    if (tls_) {
      const bool secure = co_await shake_hands();
      if (!secure) co_return;
    }
    bool first = true;
    while (!draining_ && !aborted_) {
      Parser parser;
      parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes_max));
      parser.body_limit(limits_.body_bytes_max);
      HeadScanner scanner;
      const error_code error = co_await read_header(parser, scanner, first);
      first = false;
      if (error) {
        co_await answer_garbage(error, scanner.fault());
        co_return;
      }
      const Headers headers = headers_of(parser);
      wants_continue_ = wants_continue(headers, parser.get().version());
      if (auto refusal = framing_problem(headers, parser.get().version())) {
        co_await write_last(std::move(*refusal));
        co_return;
      }
      const bool go_on = co_await answer_request(parser);
      end_exchange();
      if (!go_on) co_return;
    }
  }

  // Waits until a handshake with this network may begin. False: it may not, or nobody is there any more.
  asio::awaitable<bool> turn_comes() {
    const auto pause = context_.handshakes.begin(network_of(peer_), HandshakePace::Clock::now());
    if (!pause) co_return false;
    if (*pause == HandshakePace::Clock::duration::zero()) co_return true;
    error_code ignored;
    signal_.expires_after(*pause);
    // An end of the connection cuts it short.
    co_await signal_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    co_return !aborted_ && !has_hung_up(stream_.socket().native_handle());
  }

  // Called by the library for each message that it reads or writes.
  static void hear_of_tls(int is_written, int /*version*/, int type, const void* bytes, std::size_t length,
                          SSL* /*tls*/, void* self) {
    const bool new_keys = is_written == 0 && type == SSL3_RT_HANDSHAKE && length > 0 &&
                          *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE;
    if (new_keys) static_cast<HttpConnection*>(self)->count_new_keys();
  }

  void count_new_keys() {
    if (++new_keys_ != kNewKeysMax) return;
    // Not from inside the library's call.
    asio::post(context_.io, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->abort();
    });
  }

  asio::awaitable<bool> shake_hands() {
    const bool arrived = co_await greeting_arrives(stream_.socket());
    if (!arrived) co_return false;
    unsigned char first_byte = 0;
    if (recv(stream_.socket().native_handle(), &first_byte, 1, MSG_PEEK) == 1 && is_letter(first_byte)) {
      // Whoever types http:// for https:// is told, in the clear.
      co_await write_last(problem(400, "http.tls.required", "this port speaks TLS only",
                                  "write https:// instead of http://"));
      co_return false;
    }
    const bool may_begin = co_await turn_comes();
    if (!may_begin) co_return false;
    context_.table.set_progress(ticket_, ConnectionTable::Progress::kShakingHands);
    error_code error;
    auto& tls = stream_.secure(tls_->current());
    SSL_set_msg_callback(tls.native_handle(), &HttpConnection::hear_of_tls);
    SSL_set_msg_callback_arg(tls.native_handle(), this);
    co_await tls.async_handshake(asio::ssl::stream_base::server,
                                 asio::redirect_error(asio::use_awaitable, error));
    context_.table.set_progress(ticket_, ConnectionTable::Progress::kSecure);
    if (!error) peer_.certificate_name = verified_client(tls.native_handle());
    co_return !error;
  }

  // The parser sees a head only as a whole, and only one that the scanner has found nothing in.
  asio::awaitable<error_code> read_header(Parser& parser, HeadScanner& scanner, bool first) {
    if (buffer_.size() == 0) {
      if (!first) deadline_.set(limits_.idle_time);
      context_.table.set_idle(ticket_, !first);
      read_ahead();
      while (reading_ahead_) co_await wait_signal();
      context_.table.set_idle(ticket_, false);
      if (read_error_) co_return read_error_;
    }
    if (!first) deadline_.set(limits_.header_time);
    error_code error;
    HeadScanner::Verdict verdict = scanner.scan(buffered());
    while (verdict == HeadScanner::Verdict::kMore) {
      if (buffer_.size() >= limits_.header_bytes_max) co_return http::error::header_limit;
      const std::size_t count = co_await stream_.async_read_some(
          buffer_.prepare(kFirstReadBytes), asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return error;
      buffer_.commit(count);
      verdict = scanner.scan(buffered());
    }
    if (verdict == HeadScanner::Verdict::kMalformed) co_return http::error::bad_line_ending;
    buffer_.consume(parser.put(asio::buffer(buffer_.data(), scanner.length()), error));
    co_return error;
  }

  std::string_view buffered() const {
    const auto bytes = buffer_.cdata();
    return {static_cast<const char*>(bytes.data()), bytes.size()};
  }

  static Headers headers_of(const Parser& parser) {
    Headers headers;
    for (const auto& field : parser.get()) {
      headers.add(std::string(field.name_string()), std::string(field.value()));
    }
    return headers;
  }

  asio::awaitable<error_code> read_body(Parser& parser) {
    error_code error;
    deadline_.set(limits_.body_time);
    if (wants_continue_) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue),
                                 asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return error;
    }
    co_await http::async_read(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

  // What is no HTTP is answered, what merely ended is not.
  asio::awaitable<void> answer_garbage(const error_code& error, std::string_view fault = {}) {
    const bool of_http = error.category() == http::make_error_code(http::error::bad_method).category();
    if (of_http && error != http::error::end_of_stream && error != http::error::partial_message) {
      co_await write_last(problem_for(error, limits_, fault));
    }
  }

  // The head of the request as gate and handler see it, or the answer that it cannot be one.
  std::variant<Request, Response> to_request(const Parser& parser) const {
    const auto& message = parser.get();
    Request request;
    request.method = to_method(message.method());
    const auto read = origin_form(std::string_view(message.target().data(), message.target().size()));
    if (!read) return problem(400, read.error().reason, read.error().message, read.error().hint);
    const std::string_view target = *read;
    const std::size_t mark = std::min(target.find('?'), target.size());
    request.path = target.substr(0, mark);
    auto segments = split_path(request.path);
    auto query = Query::parse(target.substr(std::min(mark + 1, target.size())));
    for (const Error* error : {segments ? nullptr : &segments.error(), query ? nullptr : &query.error()}) {
      if (error != nullptr) return problem(400, error->reason, error->message, error->hint);
    }
    request.segments = std::move(*segments);
    request.query = std::move(*query);
    request.headers = headers_of(parser);
    request.peer = peer_;
    return request;
  }

  // ---- letting in

  // Why the request is not read further, if it is not. The connection is its share's from now on.
  std::optional<Response> refusal_of(const Parser& parser, Admission& admission) {
    if (!admission.share) keep_alive_ = false;
    if (admission.share) {
      const auto place = context_.table.claim(ticket_, *admission.share);
      if (place.evicted) context_.evict(*place.evicted);
      if (place.verdict != ConnectionTable::Verdict::kWelcome) {
        keep_alive_ = false;
        return refusal_answer(place.verdict, admission.share->name, limits_);
      }
      lane_ = admission.share->name;
    }
    if (admission.refusal) return std::move(admission.refusal);
    const std::size_t bytes_max = std::min(limits_.body_bytes_max, admission.body_bytes_max);
    const std::size_t length = parser.is_done() ? 0 : parser.content_length().value_or(bytes_max);
    if (length > bytes_max) return too_large(bytes_max);
    if (!context_.table.reserve(ticket_, length)) return memory_full(limits_);
    reserved_ = length;
    return std::nullopt;
  }

  // ---- answering

  // False: the connection has ended.
  asio::awaitable<bool> answer_request(Parser& parser) {
    version_ = parser.get().version();
    new_keys_ = 0;
    keep_alive_ = parser.keep_alive();
    head_only_ = parser.get().method() == http::verb::head;
    auto request = to_request(parser);
    std::optional<Response> refusal;
    Admission admission;
    if (auto* const bad = std::get_if<Response>(&request)) {
      refusal = std::move(*bad);
    } else {
      admission = context_.gate->admit(std::get<Request>(request));
      answered_ = std::move(admission.answered);
      refusal = refusal_of(parser, admission);
    }
    if (refusal) {
      // A body that was not read stands in the way of the next request.
      if (!parser.is_done()) keep_alive_ = false;
      const bool written = co_await write_whole(std::move(*refusal));
      co_return co_await after_answer(written);
    }
    if (!parser.is_done()) {
      parser.body_limit(std::min(limits_.body_bytes_max, admission.body_bytes_max));
      if (const error_code error = co_await read_body(parser); error) {
        co_await answer_garbage(error);
        co_return false;
      }
    }
    auto& whole = std::get<Request>(request);
    whole.body = std::move(parser.get().body());
    whole.identity = std::move(admission.identity);
    start_handler(std::move(whole));
    const bool written = co_await write_answer();
    co_return co_await after_answer(written);
  }

  // Whatever was begun for the request in work is over.
  void end_exchange() {
    if (exchange_) exchange_->close();
    exchange_.reset();
    context_.table.give_back(ticket_, std::exchange(reserved_, 0));
    has_answered(0);
  }

  void has_answered(int status) {
    if (const auto tell = std::exchange(answered_, nullptr)) tell(status);
  }

  void start_handler(Request request) {
    exchange_ = std::make_shared<Exchange>(std::move(request), limits_.stream_buffer_bytes_max, context_.pool,
                                           lane_, [&io = context_.io, weak = weak_from_this()] {
                                             asio::post(io, [weak] {
                                               if (const auto self = weak.lock()) self->signal();
                                             });
                                           });
    deadline_.never();
    watch_peer();
    context_.pool->submit(lane_, [exchange = exchange_, &handler = context_.handler] {
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
        // To HEAD, what the stream would bring is nothing to wait for.
        if (!written || !streaming || head_only_) co_return written;
      }
      if (streaming && !output.data.empty()) {
        const bool written = co_await write_data(output.data);
        if (!written) co_return false;
      }
      if (output.finished && !output.whole) co_return false;
      if (output.finished) co_return co_await write_stream_end();
      deadline_.never();
      co_await wait_signal();
    }
    co_return false;
  }

  asio::awaitable<bool> write_whole(Response response) {
    has_answered(response.status);
    http::response<http::string_body> message(http::int_to_status(static_cast<unsigned>(response.status)),
                                              version_);
    message.result(static_cast<unsigned>(response.status));
    copy_headers(response, message);
    message.keep_alive(keep_alive_ && !draining_);
    const bool has_body = response.status != 204 && response.status != 304;
    if (has_body) message.content_length(response.body.size());
    if (has_body && !head_only_) message.body() = std::move(response.body);
    const std::size_t bytes = message.body().size();
    context_.table.add(ticket_, bytes);
    http::response_serializer<http::string_body> serializer(message);
    error_code error;
    while (!error && !serializer.is_done()) {
      deadline_.set(limits_.stall_time);
      co_await http::async_write_some(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
    }
    context_.table.give_back(ticket_, bytes);
    keep_alive_ = keep_alive_ && message.keep_alive();
    co_return !error;
  }

  asio::awaitable<bool> write_stream_head(Response head) {
    has_answered(head.status);
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
    deadline_.set(limits_.stall_time);
    co_await http::async_write_header(stream_, serializer, asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  asio::awaitable<bool> write_data(const std::string& data) {
    for (std::size_t at = 0; at < data.size(); at += kChunkBytesMax) {
      const auto piece = asio::buffer(data.data() + at, std::min(kChunkBytesMax, data.size() - at));
      error_code error;
      deadline_.set(limits_.stall_time);
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
    if (!chunked_) co_return true;
    error_code error;
    deadline_.set(limits_.stall_time);
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

  asio::awaitable<void> send_refusal() {
    if (tls_) {
      const bool secure = co_await shake_hands();
      if (!secure) co_return;
    }
    co_await write_last(std::move(refusal_));
  }

  // Closing a socket that holds unread bytes resets it, and the peer would lose the answer. So what it still
  // sends is thrown away for a while, until it has seen the end of ours.
  asio::awaitable<void> linger() {
    lingering_ = true;
    deadline_.set(limits_.linger_time);
    error_code error;
    if (reading_ahead_) {
      stream_.socket().cancel(error);
      while (reading_ahead_) co_await wait_signal();
    }
    if (auto* const tls = stream_.tls()) {
      co_await tls->async_shutdown(asio::redirect_error(asio::use_awaitable, error));
      error = {};
    }
    stream_.socket().shutdown(asio::socket_base::shutdown_send, error);
    std::string waste(kChunkBytesMax, '\0');
    std::size_t total = 0;
    while (!error && total < kLingerBytesMax) {
      total += co_await stream_.socket().async_read_some(asio::buffer(waste),
                                                         asio::redirect_error(asio::use_awaitable, error));
    }
  }

  const ConnectionContext& context_;
  const ServerLimits& limits_;
  SocketStream stream_;
  asio::steady_timer signal_;
  asio::steady_timer look_;
  Deadline deadline_;
  beast::flat_buffer buffer_;
  Peer peer_;
  const std::shared_ptr<TlsContext> tls_;
  const ConnectionTable::Ticket ticket_;
  Response refusal_;
  // Of the request in work.
  std::shared_ptr<Exchange> exchange_;
  std::function<void(int)> answered_;
  std::size_t reserved_ = 0;  // bytes, in the table
  std::string lane_ = "unknown";
  error_code read_error_;
  unsigned version_ = 11;
  int new_keys_ = 0;  // since the last request
  bool wants_continue_ = false;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool chunked_ = true;
  bool signaled_ = false;
  bool watching_ = false;
  bool looking_ = false;
  bool reading_ahead_ = false;
  bool peer_gone_ = false;
  bool draining_ = false;
  bool lingering_ = false;
  bool aborted_ = false;
};

}  // namespace

std::shared_ptr<Connection> make_connection(const ConnectionContext& context, Arrival arrival) {
  return std::make_shared<HttpConnection>(context, std::move(arrival));
}

}  // namespace tangram::net

// The listener: HTTP/1.1 on Unix sockets and on TCP with or without TLS, behind one handler function.
//
// Threads: one I/O thread owns all connections; handlers run on a small pool, where the shares (net/gate.h)
// take turns. A connection has one request in work at a time, so pipelined requests are answered in order. A
// handler may return at once and answer later through its Responder: a waiting long poll or an open stream
// holds no thread.
//
// On TCP a client that closes its end while it waits for an answer counts as gone; on a Unix socket it may
// half-close.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/tls.h"

namespace tangram::net {

// A socket file. One that is left over is replaced only when nobody answers on it.
struct UnixEndpoint {
  std::string path;    // at most 100 bytes
  mode_t mode = 0666;  // who may connect; the peer's uid decides the rest
  std::optional<uid_t> owner;
  std::optional<gid_t> group;
};

struct TcpEndpoint {
  std::string address = "127.0.0.1";  // numeric, IPv4 or IPv6
  std::uint16_t port = 0;             // 0: any free one, see HttpServer::ports()
  std::shared_ptr<TlsContext> tls;    // null: without TLS
};

using Endpoint = std::variant<UnixEndpoint, TcpEndpoint>;

// Everything that a stranger could otherwise use up.
struct ServerLimits {
  std::size_t connections_max = 1024;
  // One share (see net/gate.h) may hold so many. More are answered 429.
  std::size_t connections_per_share_max = 128;
  // Of connections_max, for peers of whom nothing is known yet. When there are more, one that has come least
  // far is closed: see ConnectionTable::enter_unknown.
  std::size_t connections_unknown_max = 0;
  // Of connections_max, kept free for privileged shares. When others fill the rest, an idle connection of
  // whoever holds the most is closed for a newcomer; when there is none, the newcomer is answered 503.
  std::size_t connections_reserved = 16;
  // Of TLS and one network: an IPv4 address, the first half of an IPv6 address; of all together four times as
  // many (net/handshake_pace.h), and twice as many at once after a rest. Beyond it they take their turn, and
  // when that would be more than a second away the connection is closed.
  std::size_t handshakes_per_second = 100;
  // Bodies of requests from their header to their answer, and answers until they are read: of one share, and
  // of all. More is answered 429.
  std::size_t bytes_per_share_max = std::size_t{64} * 1024 * 1024;
  std::size_t bytes_max = std::size_t{256} * 1024 * 1024;
  std::size_t header_bytes_max = std::size_t{32} * 1024;          // more: 431
  std::size_t body_bytes_max = std::size_t{4} * 1024 * 1024;      // more: 413
  std::size_t stream_buffer_bytes_max = std::size_t{256} * 1024;  // per stream, beyond what the kernel holds
  std::chrono::milliseconds header_time{
      10'000};  // from the connect, with the TLS handshake, or the first byte to the end of the header
  std::chrono::milliseconds body_time{30'000};   // from the end of the header to the end of the body
  std::chrono::milliseconds idle_time{75'000};   // between two requests of a connection
  std::chrono::milliseconds stall_time{30'000};  // a reader that takes nothing for so long is cut
  std::chrono::milliseconds linger_time{2'000};  // how long a refused client may take to read its answer
};

struct ServerOptions {
  std::vector<Endpoint> endpoints;
  ServerLimits limits;
  std::size_t handler_threads = 4;
};

// A response of unknown length, sent in chunks. Copies speak of the same stream; the stream ends when
// finish() is called or the last copy is gone. Thread-safe.
class StreamWriter {
 public:
  enum class Status : std::uint8_t {
    kTaken,   // all of it is on its way
    kFull,    // nothing of it was taken: the reader is slow; try again after on_writable
    kClosed,  // the reader has gone or was cut; stop producing
  };

  // Never blocks. A chunk larger than the whole buffer is taken when the buffer is empty.
  Status write(std::string_view chunk);

  // Calls `callback` once, on a handler thread, when write() may take something again or the stream has
  // closed. At most one is waiting at a time: a new one takes the place of the old.
  void on_writable(std::function<void()> callback);

  // Like Responder::on_cancel.
  void on_cancel(std::function<void()> callback);

  // What was taken is still delivered.
  void finish();
  // The same, but the reader is to see that something is missing: the connection ends in the middle of the
  // answer. (HTTP/1.0 knows no difference.)
  void break_off();

  bool closed() const;

  struct Impl;
  explicit StreamWriter(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// The one answer to one request. Copies speak of the same answer. When the last copy goes without an answer,
// the client gets 500 and the log a line. A second answer is dropped and logged. Thread-safe.
class Responder {
 public:
  void send(Response response);

  // Starts a chunked response; `head.body` is its first chunk.
  StreamWriter stream(Response head);

  // Calls `callback` once, on a handler thread, when the client has gone or the server is stopping (also when
  // that was so before the call; never after the answer is complete). An answer given then still goes out if
  // the client is there, as long as stop()'s grace lasts. A later callback takes the place of the earlier.
  void on_cancel(std::function<void()> callback);

  // Calls `callback` with the status when the answer, or the head of a stream, is given: on the thread that
  // gives it and with a lock held, so it may only count. Before the answer; a later callback takes the place
  // of the earlier.
  void on_answer(std::function<void(int)> callback);

  // Opaque; made by the server.
  struct Impl;
  explicit Responder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// The request stays valid as long as a copy of the responder or of its stream lives. An exception out of a
// handler becomes 500 and a log line.
using Handler = std::function<void(const Request&, Responder)>;

class HttpServer {
 public:
  // Takes the addresses, so that whoever starts knows early that they are free; nobody can connect yet.
  // Errors: "net.address.in_use" (somebody answers there), "net.address.unavailable" (not one of this
  // machine), "net.address.forbidden", "net.path.too_long", "net.path.not_a_socket", or the system's.
  static Result<std::unique_ptr<HttpServer>> bind(ServerOptions options);
  // Listens and serves when it returns. Once. Errors: as bind().
  Result<void> serve(Handler handler, std::unique_ptr<Gate> gate = make_open_gate());
  // Both.
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, Handler handler,
                                                   std::unique_ptr<Gate> gate = make_open_gate());

  ~HttpServer();  // stop(0)
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Accepts nothing new, closes idle connections, calls the on_cancel of all others, gives them `grace` to
  // finish, then closes them. Removes the socket file. Handlers that run are waited for. Not from a handler.
  // Idempotent.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(2));

  // One for each endpoint; 0 for a Unix socket.
  std::vector<std::uint16_t> ports() const;

  // Open connections, for metrics and tests.
  std::size_t connections() const;

  struct Impl;

 private:
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::net

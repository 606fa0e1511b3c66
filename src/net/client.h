// A blocking HTTP/1.1 client over a Unix socket, or over TCP with TLS. Keeps idle connections and uses them
// again.
//
// Thread-safe: calls from several threads run side by side, each on a connection of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"
#include "net/interrupt.h"

namespace tangram::net {

struct ClientOptions {
  std::string socket_path;  // where there is no host
  // Goes into Error::hint when nobody answers: how to start the daemon.
  std::string unreachable_hint;
  std::size_t body_bytes_max =
      std::size_t{64} * 1024 * 1024;  // of an answer (request) or of one that refuses a stream
  std::size_t idle_connections_max = 8;
  std::string host{};  // name or numeric address; empty: the socket
  std::uint16_t port = 0;
  bool tls = true;        // without it only an address of this machine's own loopback is called
  std::string ca_file{};  // PEM: whose certificates are trusted; empty: those the system trusts
  std::string ca_option = "--ca-file FILE or TANGRAM_CA_FILE";  // how the user says ca_file, for hints
  std::string bearer_token{};  // sent with each request; never in a message. Without line breaks
  std::string ca_pem{};        // the authorities as PEM text, in the place of ca_file
  // What the client shows of itself when the server asks: PEM texts, its own certificate first, then those
  // between it and the root. Both or none.
  std::string certificate_pem{};
  std::string key_pem{};   // without a password; never in a message
  std::string tls_name{};  // whose certificate the server must show, where that is not `host`
};

struct ClientRequest {
  Method method = Method::kGet;
  std::string path = "/";  // escaped where needed, see encode_segment
  Query query;
  Headers headers;  // Host, Content-Length and Connection are added
  std::string body;
  const Interrupt* interrupt = nullptr;  // what may end the call early; must outlive it
};

// Whether the certificates and the key of the options can be used: what the first call would find out.
// Errors: "client.ca_file.unreadable", "client.certificate.invalid".
Result<void> check_trust(const ClientOptions& options);

// Every answer that arrives whole is a value, whatever its status. Errors:
//   kUnavailable "client.unreachable": nobody listens there; kPermissionDenied: the socket may not be used
//   kUnavailable "client.connection_lost": the server went away before the answer was whole
//   kUnavailable "client.tls.untrusted", "client.tls.failed"
//   kDeadlineExceeded "client.timeout"
//   kInternal "client.answer.invalid": the answer is not HTTP
//   kResourceExhausted "client.answer.too_large"
//   kInvalidArgument "client.request.invalid": a line break in a path, header or token;
//     "client.plain.refused": another machine without TLS; "client.ca_file.unreadable";
//     "client.certificate.invalid": ca_pem, certificate_pem or key_pem cannot be used
//   kAborted "client.interrupted": by the interrupt of the request
class HttpClient {
 public:
  explicit HttpClient(ClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `timeout` is for the whole exchange, with the look-up of the host. A request on a kept connection that
  // the server has just closed is sent once more when that is safe: an idempotent method, or a header
  // Idempotency-Key.
  Result<Response> request(const ClientRequest& request, std::chrono::milliseconds timeout);

  // Gives the body piece by piece as it arrives, until the end or until `on_chunk` returns false. An answer
  // outside 200-299 is collected and returned like that of request(), without a call. The returned Response
  // has no body otherwise. `head_timeout` is for the header; `silence_timeout` for each wait after it (0: any
  // time, for `logs -f`).
  Result<Response> stream(const ClientRequest& request, std::chrono::milliseconds head_timeout,
                          std::chrono::milliseconds silence_timeout,
                          const std::function<bool(std::string_view)>& on_chunk);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::net

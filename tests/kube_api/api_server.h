// A server on loopback that plays an API server byte by byte: what it answers, and where it stops, is the
// test's.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kube/api/config.h"
#include "net/http.h"
#include "net/listen.h"

namespace tangram::kube {

struct SeenRequest {
  std::string method;
  std::string path;  // without the query
  net::Query query;
  net::Headers headers;
  std::string body;

  std::string parameter(std::string_view name) const { return std::string(query.get(name).value_or("")); }
  std::string header(std::string_view name) const { return std::string(headers.get(name).value_or("")); }
};

// One accepted connection, on the thread that serves it.
class Conversation {
 public:
  Conversation(int fd, SSL_CTX* tls);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // The next request; nothing when the client has gone.
  std::optional<SeenRequest> next();

  void send(std::string_view bytes);
  // A whole answer; the connection goes on.
  void answer(int status, std::string_view body, std::initializer_list<net::Headers::Field> headers = {});
  // The head of a chunked one, its pieces, and its end.
  void begin_stream();
  void chunk(std::string_view bytes);
  void line(std::string_view text) { chunk(std::string(text) + "\n"); }
  void end_stream();
  // Cuts the connection: no last chunk, no goodbye of TLS.
  void cut();
  // Waits until the client has gone, or the server is stopped.
  void wait_gone();

  // From another thread: ends all reading and writing.
  void interrupt();
  bool ended() const { return ended_; }

 private:
  bool read_more();

  const int fd_;
  SSL* tls_ = nullptr;
  std::string received_;
  std::atomic<bool> ended_ = false;
};

class ApiServer {
 public:
  using Handler = std::function<void(const SeenRequest&, Conversation&)>;

  struct TlsFiles {
    std::string certificate;
    std::string key;
    std::string client_authority{};  // clients must show a certificate of it
  };

  explicit ApiServer(Handler handler, std::optional<TlsFiles> tls = {});
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  std::uint16_t port() const { return listener_.port(); }
  ClusterConfig config() const;
  std::vector<SeenRequest> requests() const;
  int connections() const { return accepted_; }

 private:
  void accept_all();
  void serve(Conversation& conversation);

  const Handler handler_;
  net::Listener listener_;
  SSL_CTX* context_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> accepted_ = 0;

  mutable std::mutex mutex_;
  std::vector<SeenRequest> requests_;
  std::list<Conversation> conversations_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// ---- what the API answers

std::string status_body(int code, std::string_view reason, std::string_view message,
                        std::string_view details = "{}");
// A Pod with little in it.
std::string pod(std::string_view name, std::string_view version, std::string_view node = "",
                std::string_view uid = "");
std::string event_line(std::string_view type, std::string_view object);
std::string bookmark_line(std::string_view version, bool initial_events_end = false);
std::string list_body(std::initializer_list<std::string> items, std::string_view version,
                      std::string_view go_on = "");

}  // namespace tangram::kube

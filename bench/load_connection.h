// One keep-alive connection of the load generator: a whole request goes out, a whole answer comes back.
//
// Not thread-safe: everything runs on the thread of the io_context.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;  // NOLINT(readability-identifier-naming): the library's name
}

namespace tangram::bench {

// Where the daemon is, and who asks.
struct Target {
  boost::asio::generic::stream_protocol::endpoint endpoint;
  std::shared_ptr<boost::asio::ssl::context> tls;  // none: plain
  std::string token;                               // empty: the peer's uid
};

// A Unix socket.
Target make_local_target(const std::string& path);
// A numeric address with TLS 1.3; the server's certificate must be vouched for by `ca_file`.
Target make_tls_target(const std::string& address, unsigned short port, const std::string& ca_file,
                       std::string token);

struct Answer {
  unsigned status = 0;  // 0: the connection broke, and `body` says how
  std::string body;
};

class LoadConnection {
 public:
  virtual ~LoadConnection() = default;

  // Sends the bytes of one HTTP/1.1 request; `done` gets the answer. Not before the answer to the one before.
  // `request` must live until then. A connection that broke is opened anew by the next call.
  virtual void exchange(const std::string& request, std::function<void(Answer)> done) = 0;
};

std::unique_ptr<LoadConnection> make_load_connection(boost::asio::io_context& io, const Target& to);

// A GET without a body, or a POST of JSON.
std::string make_request(const Target& to, const std::string& method, const std::string& path,
                         const std::string& body = {});

}  // namespace tangram::bench

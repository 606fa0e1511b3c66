#include "load_connection.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <type_traits>
#include <utility>

namespace tangram::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using TlsStream = asio::ssl::stream<Socket>;

template <class Stream>
class Connection final : public LoadConnection {
 public:
  Connection(asio::io_context& io, Target to) : io_(io), to_(std::move(to)) {}

  void exchange(const std::string& request, std::function<void(Answer)> done) override {
    done_ = std::move(done);
    request_ = &request;
    if (stream_) {
      write();
    } else {
      connect();
    }
  }

 private:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  void connect() {
    if constexpr (kTls) {
      stream_.emplace(io_, *to_.tls);
    } else {
      stream_.emplace(io_);
    }
    stream_->lowest_layer().async_connect(to_.endpoint, [this](const error_code& error) {
      if (error) return fail(error);
      if constexpr (kTls) {
        stream_->async_handshake(asio::ssl::stream_base::client, [this](const error_code& failed) {
          if (failed) return fail(failed);
          write();
        });
      } else {
        write();
      }
    });
  }

  void write() {
    if (!stream_) return fail(asio::error::not_connected);
    asio::async_write(*stream_, asio::buffer(*request_), [this](const error_code& error, std::size_t) {
      if (error) return fail(error);
      read();
    });
  }

  void read() {
    if (!stream_) return fail(asio::error::not_connected);
    parser_.emplace();
    parser_->body_limit(boost::none);
    http::async_read(*stream_, buffer_, *parser_, [this](const error_code& error, std::size_t) {
      if (error) return fail(error);
      auto message = parser_->release();
      if (!message.keep_alive()) close();
      finish({message.result_int(), std::move(message.body())});
    });
  }

  void fail(const error_code& error) {
    close();
    finish({0, error.message()});
  }

  void close() {
    stream_.reset();
    buffer_.clear();
  }

  void finish(Answer answer) { std::exchange(done_, nullptr)(std::move(answer)); }

  asio::io_context& io_;
  const Target to_;
  std::optional<Stream> stream_;
  const std::string* request_ = nullptr;
  boost::beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::string_body>> parser_;
  std::function<void(Answer)> done_;
};

}  // namespace

Target make_local_target(const std::string& path) {
  return {asio::local::stream_protocol::endpoint(path), nullptr, {}};
}

Target make_tls_target(const std::string& address, unsigned short port, const std::string& ca_file,
                       std::string token) {
  auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tlsv13_client);
  tls->load_verify_file(ca_file);
  tls->set_verify_mode(asio::ssl::verify_peer);
  return {asio::ip::tcp::endpoint(asio::ip::make_address(address), port), std::move(tls), std::move(token)};
}

std::unique_ptr<LoadConnection> make_load_connection(asio::io_context& io, const Target& to) {
  if (to.tls) return std::make_unique<Connection<TlsStream>>(io, to);
  return std::make_unique<Connection<Socket>>(io, to);
}

std::string make_request(const Target& to, const std::string& method, const std::string& path,
                         const std::string& body) {
  std::string text = method + ' ' + path + " HTTP/1.1\r\nHost: tangram\r\n";
  if (!to.token.empty()) text += "Authorization: Bearer " + to.token + "\r\n";
  if (!body.empty()) {
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "\r\n" + body;
}

}  // namespace tangram::bench

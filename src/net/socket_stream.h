// A connected socket, plain or under TLS, as one type: what reads and writes HTTP does not care which.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace tangram::net {

// An AsyncReadStream and AsyncWriteStream. One read and one write may be under way at a time.
class SocketStream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Tls = boost::asio::ssl::stream<Socket&>;
  using executor_type = Socket::executor_type;

  template <class Context>
  explicit SocketStream(Context& context) : socket_(context) {}

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }

  // What is read and written from now on goes through TLS; the handshake comes first.
  Tls& secure(std::shared_ptr<boost::asio::ssl::context> context) {
    context_ = std::move(context);
    return tls_.emplace(socket_, *context_);
  }
  Tls* tls() { return tls_ ? &*tls_ : nullptr; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          if (tls_) {
            tls_->async_read_some(into, std::move(handler));
          } else {
            socket_.async_read_some(into, std::move(handler));
          }
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          if (tls_) {
            tls_->async_write_some(from, std::move(handler));
          } else {
            socket_.async_write_some(from, std::move(handler));
          }
        },
        token, buffers);
  }

 private:
  Socket socket_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<Tls> tls_;
};

}  // namespace tangram::net

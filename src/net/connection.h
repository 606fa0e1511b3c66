// One accepted socket, from its first request to its end. Lives on the I/O thread alone.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "net/handler_pool.h"
#include "net/http.h"
#include "net/server.h"

namespace tangram::net {

// What all connections of a server share. Outlives them.
struct ConnectionContext {
  boost::asio::io_context& io;
  const ServerLimits& limits;
  std::shared_ptr<HandlerPool> pool;
  Handler handler;
};

class Connection {
 public:
  virtual ~Connection() = default;

  // Serves requests until the peer has gone. `on_end` is called once, when the socket is closed.
  virtual void serve(std::function<void()> on_end) = 0;
  // Gives this one answer without reading a request.
  virtual void refuse(Response answer, std::function<void()> on_end) = 0;
  // Ends when the request in work is answered, and asks its handler to hurry; at once when there is none.
  virtual void drain() = 0;
  // Ends now.
  virtual void abort() = 0;
};

// Takes over `fd`, which is connected and non-blocking.
std::shared_ptr<Connection> make_connection(const ConnectionContext& context, int fd, Peer peer);

}  // namespace tangram::net

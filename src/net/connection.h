// One accepted socket, from its first request to its end. Lives on the I/O thread alone.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "net/connection_table.h"
#include "net/gate.h"
#include "net/handler_pool.h"
#include "net/handshake_pace.h"
#include "net/http.h"
#include "net/server.h"

namespace tangram::net {

// What all connections of a server share. Outlives them.
struct ConnectionContext {
  boost::asio::io_context& io;
  const ServerLimits& limits;
  std::shared_ptr<HandlerPool> pool;
  ConnectionTable& table;
  HandshakePace& handshakes;
  Handler handler;
  std::unique_ptr<Gate> gate;
  // Ends the connection of a ticket that the table took back.
  std::function<void(ConnectionTable::Ticket)> evict;
};

// What is known of a connection when it is accepted.
struct Arrival {
  int fd = -1;  // connected and non-blocking; the connection takes it over
  Peer peer;
  std::shared_ptr<TlsContext> tls;     // null: plain
  ConnectionTable::Ticket ticket = 0;  // 0: only there to be refused
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

std::shared_ptr<Connection> make_connection(const ConnectionContext& context, Arrival arrival);

}  // namespace tangram::net

#include "net/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/invariant.h"
#include "base/log.h"
#include "base/thread.h"
#include "net/connection.h"
#include "net/connection_table.h"
#include "net/handshake_pace.h"
#include "net/listen.h"

namespace tangram::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Connections that only wait for their refusal to be read. Beyond, a stranger is cut without a word.
constexpr std::size_t kRefusalsMax = 64;
constexpr std::chrono::milliseconds kAcceptRetry{100};
constexpr std::chrono::seconds kWarnAgain{30};
// Accepted before other work has its turn again: each costs, with the stranger that it pushes out, as much as
// several answers, and a crowd must not hold up who is there already.
constexpr int kAcceptsAtOnce = 4;

}  // namespace

struct HttpServer::Impl {
  // One address to come in by.
  struct Door {
    Listener listener;
    std::shared_ptr<TlsContext> tls;
    asio::posix::stream_descriptor acceptor;
    asio::steady_timer retry;  // accept again after a lack of descriptors
    asio::steady_timer::time_point warn_at{};

    Door(asio::io_context& io, Listener on, const Endpoint& endpoint)
        : listener(std::move(on)), acceptor(io), retry(io) {
      if (const auto* tcp = std::get_if<TcpEndpoint>(&endpoint)) tls = tcp->tls;
    }
  };

  ServerOptions options;
  asio::io_context io{1};
  std::vector<std::unique_ptr<Door>> doors;
  std::shared_ptr<HandlerPool> pool;
  ConnectionTable table;
  HandshakePace handshakes;
  ConnectionContext context;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  asio::steady_timer grace_end;  // while stopping
  std::thread thread;
  std::atomic<std::size_t> open{0};

  // Of the I/O thread.
  std::map<ConnectionTable::Ticket, std::shared_ptr<Connection>> served;
  std::set<std::shared_ptr<Connection>> refused;
  bool stopping = false;

  explicit Impl(ServerOptions with)
      : options(std::move(with)),
        pool(std::make_shared<HandlerPool>(options.handler_threads)),
        table(options.limits),
        handshakes(options.limits.handshakes_per_second),
        context{io,         options.limits, pool,    table,
                handshakes, nullptr,        nullptr, [this](auto ticket) { evict(ticket); }},
        work(io.get_executor()),
        grace_end(io) {}

  Result<void> bind() {
    for (const Endpoint& endpoint : options.endpoints) {
      TG_TRY(Listener listener, Listener::bind(endpoint));
      doors.push_back(std::make_unique<Door>(io, std::move(listener), endpoint));
    }
    return {};
  }

  Result<void> serve(Handler handler, std::unique_ptr<Gate> gate) {
    context.handler = std::move(handler);
    context.gate = std::move(gate);
    for (const auto& door : doors) {
      TG_TRY_VOID(door->listener.listen());
      door->acceptor.assign(door->listener.fd());
      wait_for_peers(*door);
    }
    thread = std::thread([this] { run(); });
    return {};
  }

  void run() {
    name_this_thread("network");
    take_short_turns();
    while (true) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {
        log::error(std::string("http: the I/O thread caught: ") + error.what());
      }
    }
  }

  void wait_for_peers(Door& door) {
    door.acceptor.async_wait(asio::posix::stream_descriptor::wait_read,
                             [this, &door](const error_code& error) {
                               if (error || stopping) return;
                               accept_some(door);
                             });
  }

  void accept_some(Door& door) {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      const int fd = accept4(door.listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        welcome(door, fd);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        warn_of_lack(door, errno);
        door.retry.expires_after(kAcceptRetry);
        door.retry.async_wait([this, &door](const error_code& error) {
          if (!error && !stopping) wait_for_peers(door);
        });
        return;
      } else if (errno == EAGAIN) {
        wait_for_peers(door);
        return;
      }
      // Anything else is the fault of one peer (ECONNABORTED and kin): on to the next.
    }
    asio::post(io, [this, &door] {
      if (!stopping) accept_some(door);
    });
  }

  static void warn_of_lack(Door& door, int error) {
    const auto now = asio::steady_timer::clock_type::now();
    if (now < door.warn_at) return;
    door.warn_at = now + kWarnAgain;
    log::warn("http: cannot accept a connection: " + errno_text(error));
  }

  void welcome(const Door& door, int fd) {
    Arrival arrival{fd, peer_of(fd), door.tls, 0};
    if (!arrival.peer.process && arrival.peer.address.empty()) {
      close(fd);  // gone already
      return;
    }
    const std::optional<Share> share = context.gate->share_of(arrival.peer);
    const auto place = share ? table.enter(*share) : table.enter_unknown(origin_of(arrival.peer));
    if (place.evicted) evict(*place.evicted);
    if (place.verdict != ConnectionTable::Verdict::kWelcome) {
      refuse(std::move(arrival), place.verdict, share);
      return;
    }
    arrival.ticket = place.ticket;
    auto connection = make_connection(context, std::move(arrival));
    served[place.ticket] = connection;
    open = served.size();
    connection->serve([this, ticket = place.ticket] {
      table.leave(ticket);
      served.erase(ticket);
      open = served.size();
      end_when_empty();
    });
  }

  // Where a peer comes from of whom nothing else is known.
  static std::string origin_of(const Peer& peer) {
    return peer.process ? "uid " + std::to_string(peer.process->uid) : network_of(peer);
  }

  void refuse(Arrival arrival, ConnectionTable::Verdict verdict, const std::optional<Share>& share) {
    if (refused.size() >= kRefusalsMax) {
      close(arrival.fd);
      return;
    }
    auto connection = make_connection(context, std::move(arrival));
    refused.insert(connection);
    connection->refuse(refusal_answer(verdict, share ? share->name : "unknown", options.limits),
                       [this, connection] { refused.erase(connection); });
  }

  void evict(ConnectionTable::Ticket ticket) {
    const auto found = served.find(ticket);
    if (found != served.end()) std::shared_ptr(found->second)->abort();
  }

  void begin_stop(std::chrono::milliseconds grace) {
    stopping = true;
    for (const auto& door : doors) {
      door->acceptor.release();  // the listener closes it
      door->retry.cancel();
    }
    const auto connections = served;  // an abort may take one out
    for (const auto& [ticket, connection] : connections) connection->drain();
    grace_end.expires_after(grace);
    grace_end.async_wait([this](const error_code& error) {
      if (!error) abort_all();
    });
    end_when_empty();
  }

  void abort_all() {
    const auto serving = served;
    const auto refusing = refused;
    for (const auto& [ticket, connection] : serving) connection->abort();
    for (const auto& connection : refusing) connection->abort();
  }

  void end_when_empty() {
    if (!stopping || !served.empty()) return;
    abort_all();
    grace_end.cancel();
    work.reset();
  }

  void stop(std::chrono::milliseconds grace) {
    if (thread.joinable()) {
      asio::post(io, [this, grace] { begin_stop(grace); });
      thread.join();
    }
    for (const auto& door : doors) {
      if (door->acceptor.is_open()) door->acceptor.release();  // serve() has failed half-way
    }
    pool->finish();
    for (const auto& door : doors) door->listener = Listener();
  }
};

Result<std::unique_ptr<HttpServer>> HttpServer::bind(ServerOptions options) {
  TG_ASSERT(options.handler_threads > 0, "a server needs a handler thread");
  TG_ASSERT(!options.endpoints.empty(), "a server needs an address");
  auto impl = std::make_unique<Impl>(std::move(options));
  TG_TRY_VOID(impl->bind());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

Result<void> HttpServer::serve(Handler handler, std::unique_ptr<Gate> gate) {
  TG_ASSERT(handler != nullptr && gate != nullptr, "a server needs a handler and a gate");
  return impl_->serve(std::move(handler), std::move(gate));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Handler handler,
                                                      std::unique_ptr<Gate> gate) {
  TG_TRY(auto server, bind(std::move(options)));
  TG_TRY_VOID(server->serve(std::move(handler), std::move(gate)));
  return server;
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  stop(std::chrono::milliseconds(0));
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  impl_->stop(grace);
}

std::vector<std::uint16_t> HttpServer::ports() const {
  std::vector<std::uint16_t> ports;
  for (const auto& door : impl_->doors) ports.push_back(door->listener.port());
  return ports;
}

std::size_t HttpServer::connections() const {
  return impl_->open;
}

}  // namespace tangram::net

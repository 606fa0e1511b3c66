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
#include "net/connection.h"
#include "net/listen.h"
#include "net/problem.h"

namespace tangram::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Connections that only wait for their refusal to be read. Beyond, a stranger is cut without a word.
constexpr std::size_t kRefusalsMax = 64;
constexpr std::chrono::milliseconds kAcceptRetry{100};

// Whose share a connection counts to.
std::string share_of(const Peer& peer) {
  if (peer.process) return "uid " + std::to_string(peer.process->uid);
  return "address " + peer.address.substr(0, peer.address.rfind(':'));
}

bool is_operator(const Peer& peer) {
  return peer.process && (peer.process->uid == 0 || peer.process->uid == geteuid());
}

}  // namespace

struct HttpServer::Impl {
  ServerOptions options;
  Listener listener;
  asio::io_context io{1};
  std::shared_ptr<HandlerPool> pool;
  ConnectionContext context;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  asio::posix::stream_descriptor acceptor;
  asio::steady_timer timer;  // accept again after a lack of descriptors; while stopping, the end of the grace
  std::thread thread;
  std::atomic<std::size_t> open{0};

  // Of the I/O thread.
  std::set<std::shared_ptr<Connection>> served;
  std::set<std::shared_ptr<Connection>> refused;
  std::map<std::string, std::size_t> shares;
  bool stopping = false;

  Impl(ServerOptions with, Listener on, Handler handler)
      : options(std::move(with)),
        listener(std::move(on)),
        pool(std::make_shared<HandlerPool>(options.handler_threads)),
        context{io, options.limits, pool, std::move(handler)},
        work(io.get_executor()),
        acceptor(io),
        timer(io) {}

  void start() {
    acceptor.assign(listener.fd());
    wait_for_peers();
    thread = std::thread([this] { run(); });
  }

  void run() {
    while (true) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {
        log::error(std::string("http: the I/O thread caught: ") + error.what());
      }
    }
  }

  void wait_for_peers() {
    acceptor.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code& error) {
      if (error || stopping) return;
      accept_all();
    });
  }

  void accept_all() {
    while (true) {
      const int fd = accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        welcome(fd);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        log::warn("http: cannot accept a connection: " + errno_text(errno));
        timer.expires_after(kAcceptRetry);
        timer.async_wait([this](const error_code& error) {
          if (!error && !stopping) wait_for_peers();
        });
        return;
      } else if (errno == EAGAIN) {
        wait_for_peers();
        return;
      }
      // Anything else is the fault of one peer (ECONNABORTED and kin): on to the next.
    }
  }

  void welcome(int fd) {
    Peer peer = peer_of(fd);
    const std::string share = share_of(peer);
    if (std::optional<Response> refusal = refusal_of(peer, share)) {
      if (refused.size() >= kRefusalsMax) {
        close(fd);
        return;
      }
      auto connection = make_connection(context, fd, std::move(peer));
      refused.insert(connection);
      connection->refuse(std::move(*refusal), [this, connection] { refused.erase(connection); });
      return;
    }
    auto connection = make_connection(context, fd, std::move(peer));
    served.insert(connection);
    ++shares[share];
    open = served.size();
    connection->serve([this, connection, share] {
      served.erase(connection);
      open = served.size();
      const auto at = shares.find(share);
      if (--at->second == 0) shares.erase(at);
      end_when_empty();
    });
  }

  std::optional<Response> refusal_of(const Peer& peer, const std::string& share) const {
    const ServerLimits& limits = options.limits;
    const auto held = shares.find(share);
    if (held != shares.end() && held->second >= limits.connections_per_peer_max) {
      return problem(429, "http.connections.share_exceeded",
                     share + " holds " + std::to_string(held->second) + " connections, and may hold " +
                         std::to_string(limits.connections_per_peer_max),
                     "close some, or use one connection for more requests");
    }
    const std::size_t reserved =
        is_operator(peer) ? 0 : std::min(limits.connections_reserved, limits.connections_max);
    if (served.size() >= limits.connections_max - reserved) {
      return problem(503, "http.connections.exceeded",
                     "the server holds " + std::to_string(served.size()) + " connections and takes no more",
                     "try again in a moment");
    }
    return std::nullopt;
  }

  void begin_stop(std::chrono::milliseconds grace) {
    stopping = true;
    acceptor.release();               // the listener closes it
    const auto connections = served;  // an abort may take one out
    for (const auto& connection : connections) connection->drain();
    timer.expires_after(grace);
    timer.async_wait([this](const error_code& error) {
      if (!error) abort_all();
    });
    end_when_empty();
  }

  void abort_all() {
    for (const auto& set : {served, refused}) {
      for (const auto& connection : set) connection->abort();
    }
  }

  void end_when_empty() {
    if (!stopping || !served.empty()) return;
    abort_all();
    timer.cancel();
    work.reset();
  }

  void stop(std::chrono::milliseconds grace) {
    if (!thread.joinable()) return;
    asio::post(io, [this, grace] { begin_stop(grace); });
    thread.join();
    pool->finish();
    listener = Listener();
  }
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Handler handler) {
  TG_ASSERT(handler != nullptr, "a server needs a handler");
  TG_ASSERT(options.handler_threads > 0, "a server needs a handler thread");
  TG_TRY(Listener listener, Listener::open(options.endpoint));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(listener), std::move(handler));
  impl->start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  stop(std::chrono::milliseconds(0));
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  impl_->stop(grace);
}

std::uint16_t HttpServer::port() const {
  return impl_->listener.port();
}

std::size_t HttpServer::connections() const {
  return impl_->open;
}

}  // namespace tangram::net

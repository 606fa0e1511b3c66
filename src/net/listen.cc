#include "net/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/quote.h"

namespace tangram::net {
namespace {

constexpr std::size_t kPathBytesMax =
    100;                        // sun_path holds 108, and the name in the making is longer by a suffix
constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

union Address {
  sockaddr any;
  sockaddr_un local;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_storage storage;
};

Address unix_address(const std::string& path) {
  Address address;
  std::memset(&address, 0, sizeof address);
  address.local.sun_family = AF_UNIX;
  std::memcpy(address.local.sun_path, path.data(), path.size());
  return address;
}

// Fails when the path is held by a living server or by something that is no socket.
Result<void> require_free(const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail(system_error("cannot look at the socket path " + path, errno));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return fail(Code::kAlreadyExists, "net.path.not_a_socket",
                path + " exists and is not a socket, so it was left alone",
                "remove it or choose another path");
  }
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return fail(system_error("cannot make a socket", errno));
  const Address address = unix_address(path);
  const int connected = connect(probe, &address.any, sizeof address.local);
  const int error = errno;
  close(probe);
  if (connected == 0 || error == EAGAIN) {
    return fail(Code::kAlreadyExists, "net.address.in_use", "another server answers on " + path,
                "stop it first, or choose another path");
  }
  if (error != ECONNREFUSED && error != ENOENT) {
    return fail(system_error("cannot tell whether " + path + " is in use", error));
  }
  return {};
}

Error address_in_use(const std::string& name) {
  return {Code::kAlreadyExists,
          "net.address.in_use",
          "another server answers on " + name,
          "stop it first, or choose another port",
          {},
          nullptr};
}

Error bind_error(const std::string& name, int number) {
  if (number == EADDRINUSE) return address_in_use(name);
  Error error = system_error("cannot take the address " + name, number);
  if (number == EADDRNOTAVAIL) {
    error.reason = "net.address.unavailable";
    error.hint = "name an address of this machine (ip address), or 0.0.0.0 for all";
  } else if (number == EACCES || number == EPERM) {
    error.reason = "net.address.forbidden";
    error.hint = "choose a port above 1023, or give tangramd CAP_NET_BIND_SERVICE";
  }
  return error;
}

Result<void> require_usable(const std::string& path) {
  if (!path.empty() && path.size() <= kPathBytesMax && path.find('\0') == std::string::npos) return {};
  return fail(Code::kInvalidArgument, "net.path.too_long",
              "the socket path " + quoted(path, kPathBytesMax) + " has " + std::to_string(path.size()) +
                  " bytes; 1 to " + std::to_string(kPathBytesMax) + " are possible",
              "choose a shorter directory");
}

Result<Address> tcp_address(const TcpEndpoint& endpoint) {
  Address address;
  std::memset(&address, 0, sizeof address);
  if (inet_pton(AF_INET, endpoint.address.c_str(), &address.v4.sin_addr) == 1) {
    address.v4.sin_family = AF_INET;
    address.v4.sin_port = htons(endpoint.port);
    return address;
  }
  if (inet_pton(AF_INET6, endpoint.address.c_str(), &address.v6.sin6_addr) == 1) {
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = htons(endpoint.port);
    return address;
  }
  return fail(Code::kInvalidArgument, "net.address.invalid",
              quoted(endpoint.address) + " is not a numeric IPv4 or IPv6 address");
}

}  // namespace

Listener::~Listener() {
  if (fd_ < 0) return;
  close(fd_);
  struct stat info{};
  if (!path_.empty() && lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

Listener::Listener(Listener&& other) noexcept
    : endpoint_(std::move(other.endpoint_)),
      fd_(std::exchange(other.fd_, -1)),
      port_(other.port_),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(other.inode_) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  std::swap(endpoint_, other.endpoint_);
  std::swap(fd_, other.fd_);
  std::swap(port_, other.port_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

Result<Listener> Listener::bind(const Endpoint& endpoint) {
  Listener listener;
  listener.endpoint_ = endpoint;
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) {
    TG_TRY_VOID(require_usable(local->path));
    TG_TRY_VOID(require_free(local->path));
  } else {
    TG_TRY_VOID(listener.bind_tcp(std::get<TcpEndpoint>(endpoint)));
  }
  return listener;
}

Result<void> Listener::listen() {
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint_)) return listen_unix(*local);
  if (::listen(fd_, kBacklog) == 0) return {};
  if (errno == EADDRINUSE) return fail(address_in_use(to_string(endpoint_)));
  return fail(system_error("cannot listen on " + to_string(endpoint_), errno));
}

Result<Listener> Listener::open(const Endpoint& endpoint) {
  TG_TRY(Listener listener, bind(endpoint));
  TG_TRY_VOID(listener.listen());
  return listener;
}

// The socket is made under another name and renamed when its owner and mode are right and it listens: nobody
// can connect before that, and a reader of the directory sees the old file or the new one.
Result<void> Listener::listen_unix(const UnixEndpoint& endpoint) {
  const std::string& path = endpoint.path;
  TG_TRY_VOID(require_free(path));
  const std::string making = path + ".new";
  unlink(making.c_str());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return fail(system_error("cannot make a socket", errno));
  const Address address = unix_address(making);
  if (::bind(fd_, &address.any, sizeof address.local) != 0) {
    return fail(system_error("cannot make the socket " + path, errno));
  }
  path_ = making;
  struct stat info{};
  if (lstat(making.c_str(), &info) == 0) {
    device_ = info.st_dev;
    inode_ = info.st_ino;
  }
  const uid_t owner = endpoint.owner.value_or(static_cast<uid_t>(-1));
  const gid_t group = endpoint.group.value_or(static_cast<gid_t>(-1));
  if (lchown(making.c_str(), owner, group) != 0 || chmod(making.c_str(), endpoint.mode) != 0) {
    return fail(system_error("cannot set owner and mode of the socket " + path, errno));
  }
  if (::listen(fd_, kBacklog) != 0) return fail(system_error("cannot listen on " + path, errno));
  if (rename(making.c_str(), path.c_str()) != 0) {
    return fail(system_error("cannot put the socket in place at " + path, errno));
  }
  path_ = path;
  return {};
}

Result<void> Listener::bind_tcp(const TcpEndpoint& endpoint) {
  TG_TRY(const Address address, tcp_address(endpoint));
  const std::string name = to_string(endpoint);
  fd_ = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return fail(system_error("cannot make a socket", errno));
  const int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // So that 0.0.0.0 and :: may both be named.
  if (address.any.sa_family == AF_INET6) setsockopt(fd_, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const socklen_t size = address.any.sa_family == AF_INET ? sizeof address.v4 : sizeof address.v6;
  if (::bind(fd_, &address.any, size) != 0) return fail(bind_error(name, errno));
  Address bound;
  socklen_t bound_size = sizeof bound;
  if (getsockname(fd_, &bound.any, &bound_size) != 0) {
    return fail(system_error("cannot read the address of " + name, errno));
  }
  port_ = ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
  return {};
}

void set_tcp_options(int fd) {
  // A machine that is switched off says nothing: three unanswered questions, ten seconds apart, are enough.
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::size_t arrived(int fd) {
  int count = 0;
  return ioctl(fd, FIONREAD, &count) == 0 && count > 0 ? static_cast<std::size_t>(count) : 0;
}

void want_bytes(int fd, std::size_t count) {
  const int number = static_cast<int>(count);
  setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &number, sizeof number);
}

bool has_hung_up(int fd) {
  pollfd poll_fd{fd, POLLRDHUP, 0};
  return poll(&poll_fd, 1, 0) != 0;
}

std::string to_string(const Endpoint& endpoint) {
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) return local->path;
  const auto& tcp = std::get<TcpEndpoint>(endpoint);
  const bool v6 = tcp.address.find(':') != std::string::npos;
  return (v6 ? "[" + tcp.address + "]" : tcp.address) + ":" + std::to_string(tcp.port);
}

std::string network_of(const Peer& peer) {
  std::string host = peer.host();
  in6_addr address{};
  if (!host.starts_with('[') || inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) != 1) {
    return host;
  }
  std::fill(address.s6_addr + 8, address.s6_addr + 16, 0);
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &address, text, sizeof text);
  return std::string(text) + "/64";
}

Peer peer_of(int fd) {
  Peer peer;
  Address address;
  std::memset(&address, 0, sizeof address);
  socklen_t size = sizeof address;
  if (getpeername(fd, &address.any, &size) != 0) return peer;
  char text[INET6_ADDRSTRLEN] = {};
  if (address.any.sa_family == AF_UNIX) {
    ucred credentials{};
    size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
      peer.process = Peer::Process{credentials.uid, credentials.gid, credentials.pid};
    }
  } else if (address.any.sa_family == AF_INET) {
    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text);
    peer.address = std::string(text) + ":" + std::to_string(ntohs(address.v4.sin_port));
  } else if (address.any.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof text);
    peer.address = "[" + std::string(text) + "]:" + std::to_string(ntohs(address.v6.sin6_port));
  }
  return peer;
}

}  // namespace tangram::net

// Listening sockets and the identity of who connects, straight from the kernel.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/http.h"
#include "net/server.h"

namespace tangram::net {

// A non-blocking listening socket. Closes it, and removes the socket file if it is still this one, when it
// goes.
class Listener {
 public:
  // Takes the address: what can be known before anybody may connect.
  static Result<Listener> bind(const Endpoint& endpoint);
  // From now on peers may connect.
  Result<void> listen();
  // Both.
  static Result<Listener> open(const Endpoint& endpoint);

  Listener() = default;
  ~Listener();
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;

  int fd() const { return fd_; }
  std::uint16_t port() const { return port_; }  // TCP only

 private:
  Result<void> listen_unix(const UnixEndpoint& endpoint);
  Result<void> bind_tcp(const TcpEndpoint& endpoint);

  Endpoint endpoint_;
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::string path_;
  dev_t device_ = 0;  // of the socket file, to know it again
  ino_t inode_ = 0;
};

// For a connected TCP socket: sends at once, and finds out when the peer's machine is gone.
void set_tcp_options(int fd);

// Bytes that wait to be read on a connected socket.
std::size_t arrived(int fd);
// The socket counts as readable when so many bytes wait, or the peer has gone.
void want_bytes(int fd, std::size_t count);
bool has_hung_up(int fd);

// "192.0.2.1:8443", "[::1]:8443", or the path.
std::string to_string(const Endpoint& endpoint);

// What one customer of a network has: an IPv4 address, the first half of an IPv6 address.
std::string network_of(const Peer& peer);

// Of a connected socket; without a process and with an empty address when the kernel does not say.
Peer peer_of(int fd);

}  // namespace tangram::net

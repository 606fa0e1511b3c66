// Listening sockets and the identity of who connects, straight from the kernel.
#pragma once

#include <sys/stat.h>

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
  static Result<Listener> open(const Endpoint& endpoint);

  Listener() = default;
  ~Listener();
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;

  int fd() const { return fd_; }
  std::uint16_t port() const { return port_; }  // TCP only

 private:
  static Result<Listener> open_unix(const UnixEndpoint& endpoint);
  static Result<Listener> open_tcp(const TcpEndpoint& endpoint);

  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::string path_;
  dev_t device_ = 0;  // of the socket file, to know it again
  ino_t inode_ = 0;
};

// Of a connected socket; without a process and with an empty address when the kernel does not say.
Peer peer_of(int fd);

}  // namespace tangram::net

// A client's connected socket: Unix, TCP, or TCP under TLS. Blocking with deadlines; one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/client.h"
#include "net/client_trust.h"
#include "net/client_wait.h"

struct ssl_st;

namespace tangram::net {

class ClientSocket {
 public:
  // `trust` is for TLS only, `interrupt` may be null. Errors: those of HttpClient.
  static Result<std::unique_ptr<ClientSocket>> connect(const ClientOptions& options,
                                                       const std::shared_ptr<ClientTrust>& trust,
                                                       ClientDeadline deadline, const Interrupt* interrupt);
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  // What ends waiting from now on; may be null.
  void set_interrupt(const Interrupt* interrupt) { interrupt_ = interrupt; }

  // Whether the server still holds the other end and has not spoken out of turn.
  bool fresh();

  // Sends all: true. False: the server answered before that, or has gone; the reason for it may wait to be
  // read.
  Result<bool> send(std::string_view data, ClientDeadline deadline);

  // At least one byte, or 0 at the end of the stream.
  Result<std::size_t> read(void* into, std::size_t size, ClientDeadline deadline);

 private:
  struct FreeTls {
    void operator()(ssl_st* tls) const;
  };

  ClientSocket(int fd, const Interrupt* interrupt) : fd_(fd), interrupt_(interrupt) {}
  Result<void> shake_hands(const ClientOptions& options, const std::shared_ptr<ClientTrust>& trust,
                           ClientDeadline deadline);
  Result<bool> send_plain(std::string_view data, ClientDeadline deadline);
  Result<bool> send_tls(std::string_view data, ClientDeadline deadline);
  Result<std::size_t> read_plain(void* into, std::size_t size, ClientDeadline deadline);
  Result<std::size_t> read_tls(void* into, std::size_t size, ClientDeadline deadline);
  bool has_something_to_read();

  int fd_;
  const Interrupt* interrupt_;
  std::unique_ptr<ssl_st, FreeTls> tls_;
};

}  // namespace tangram::net

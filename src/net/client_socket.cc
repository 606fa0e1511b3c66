#include "net/client_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "net/host_lookup.h"

namespace tangram::net {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kConnectRetry{5};

std::string where(const ClientOptions& options) {
  if (options.host.empty()) return options.socket_path;
  const bool v6 = options.host.find(':') != std::string::npos;
  return (v6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

Error unreachable(const ClientOptions& options, const std::string& why, int number) {
  const bool forbidden = number == EACCES || number == EPERM;
  return {forbidden ? Code::kPermissionDenied : Code::kUnavailable,
          "client.unreachable",
          "cannot reach the daemon on " + where(options) + ": " + why,
          forbidden ? "ask the operator for access to the socket" : options.unreachable_hint,
          {},
          nullptr};
}

Error unreachable(const ClientOptions& options, int number) {
  return unreachable(options, errno_text(number), number);
}

// The descriptor of a connected socket.
Result<int> dial_unix(const ClientOptions& options, ClientDeadline deadline, const Interrupt* interrupt) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = options.socket_path;
  if (path.empty() || path.size() >= sizeof address.sun_path) return fail(unreachable(options, ENAMETOOLONG));
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(system_error("cannot make a socket", errno));
  while (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int number = errno;
    // EAGAIN: the server's backlog is full. Poll does not wait for that on a Unix socket.
    const bool again = number == EAGAIN || number == EINTR;
    if (interrupt != nullptr && interrupt->raised()) {
      close(fd);
      return client_interrupted();
    }
    if (again && (!deadline || Clock::now() < *deadline)) {
      std::this_thread::sleep_for(kConnectRetry);
      continue;
    }
    close(fd);
    if (again) return client_timed_out();
    return fail(unreachable(options, number));
  }
  return fd;
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24U) == 127U;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

Result<int> dial_address(const ClientOptions& options, const addrinfo& to, ClientDeadline deadline,
                         const Interrupt* interrupt) {
  if (!options.tls && !is_loopback(to.ai_addr)) {
    return fail(
        Code::kInvalidArgument, "client.plain.refused",
        where(options) + " is another machine, and without TLS everybody on the way could read the token",
        "write https:// instead of http://");
  }
  const int fd = socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(system_error("cannot make a socket", errno));
  int number = connect(fd, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (number == EINPROGRESS) {
    const auto ready = wait_for(fd, POLLOUT, deadline, interrupt);
    if (!ready) {
      close(fd);
      return fail(ready.error());
    }
    socklen_t size = sizeof number;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
  }
  if (number != 0) {
    close(fd);
    return fail(unreachable(options, number));
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return fd;
}

Result<int> dial_tcp(const ClientOptions& options, ClientDeadline deadline, const Interrupt* interrupt) {
  const Result<Addresses> list = look_up_host(options.host, options.port, deadline, interrupt);
  if (!list) {
    const Error& error = list.error();
    return fail(error.reason == "client.unreachable" ? unreachable(options, error.message, 0) : error);
  }
  Result<int> fd = fail(unreachable(options, ENOENT));
  for (const addrinfo* at = list->get(); at != nullptr && !fd; at = at->ai_next) {
    fd = dial_address(options, *at, deadline, interrupt);
  }
  return fd;
}

// ---- TLS on a socket without SIGPIPE: the library would use write(2)

int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = *static_cast<const int*>(BIO_get_data(bio));
  const ssize_t count = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = *static_cast<const int*>(BIO_get_data(bio));
  const ssize_t count = ::recv(fd, into, static_cast<std::size_t>(size), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(count);
}

long bio_control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "quiet socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

// `fd` lives as long as the BIO.
BIO* make_bio(int* fd) {
  BIO* bio = BIO_new(socket_method());
  BIO_set_data(bio, fd);
  BIO_set_init(bio, 1);
  return bio;
}

// Whether the other side went away, instead of saying something that is wrong.
bool has_hung_up() {
  const unsigned long number = ERR_peek_error();
  return number == 0 || ERR_GET_REASON(number) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

std::string tls_reason() {
  const unsigned long number = ERR_peek_error();
  const char* text = ERR_reason_error_string(number);
  ERR_clear_error();
  return text != nullptr ? text : "the connection ended";
}

// What to wait for before the operation is tried again; 0: it has failed.
short events_of(SSL* tls, int result) {
  switch (SSL_get_error(tls, result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      return 0;
  }
}

bool is_address(const std::string& host) {
  in6_addr ignored{};
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1 || inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

std::string untrusted_hint(long verdict, const ClientOptions& options) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "ask the operator for a newer certificate (the daemon reads it on SIGHUP), and check the clock "
             "of "
             "this machine";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "check the clocks of this machine and of the daemon's";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "name the host as its certificate does";
    default:
      return "name the authority that signed it with " + options.ca_option;
  }
}

Error handshake_error(SSL* tls, const ClientOptions& options) {
  const long verdict = SSL_get_verify_result(tls);
  if (verdict != X509_V_OK) {
    ERR_clear_error();
    return {
        Code::kUnavailable,
        "client.tls.untrusted",
        "the certificate of " + where(options) + " is not trusted: " + X509_verify_cert_error_string(verdict),
        untrusted_hint(verdict, options),
        {},
        nullptr};
  }
  // A daemon that ends at this moment: as when it ends at any other.
  if (has_hung_up()) {
    ERR_clear_error();
    return connection_lost("in the handshake of TLS").value();
  }
  return {Code::kUnavailable,
          "client.tls.failed",
          "cannot speak TLS with " + where(options) + ": " + tls_reason(),
          "check that this is the port of tangramd that speaks TLS",
          {},
          nullptr};
}

}  // namespace

void ClientSocket::FreeTls::operator()(ssl_st* tls) const {
  SSL_free(tls);
}

Result<std::unique_ptr<ClientSocket>> ClientSocket::connect(const ClientOptions& options,
                                                            const std::shared_ptr<ClientTrust>& trust,
                                                            ClientDeadline deadline,
                                                            const Interrupt* interrupt) {
  TG_TRY(const int fd, options.host.empty() ? dial_unix(options, deadline, interrupt)
                                            : dial_tcp(options, deadline, interrupt));
  auto socket = std::unique_ptr<ClientSocket>(new ClientSocket(fd, interrupt));
  if (!options.host.empty() && options.tls) {
    TG_TRY_VOID(socket->shake_hands(options, trust, deadline));
  }
  return socket;
}

ClientSocket::~ClientSocket() {
  if (tls_) SSL_shutdown(tls_.get());  // says goodbye if that is possible at once
  close(fd_);
}

Result<void> ClientSocket::shake_hands(const ClientOptions& options,
                                       const std::shared_ptr<ClientTrust>& trust, ClientDeadline deadline) {
  tls_.reset(SSL_new(trust->native()));
  SSL* const tls = tls_.get();
  BIO* const bio = make_bio(&fd_);
  SSL_set_bio(tls, bio, bio);
  std::string name = options.tls_name.empty() ? options.host : options.tls_name;
  if (is_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), name.c_str());
  } else {
    SSL_set1_host(tls, name.c_str());
    // What the macro SSL_set_tlsext_host_name stands for, without its C cast.
    SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  }
  while (true) {
    const int done = SSL_connect(tls);
    if (done == 1) return {};
    const short events = events_of(tls, done);
    if (events == 0) {
      Error error = handshake_error(tls, options);
      tls_.reset();  // no goodbye on a connection that never was
      return fail(std::move(error));
    }
    TG_TRY([[maybe_unused]] const short ready, wait_for(fd_, events, deadline, interrupt_));
  }
}

// Under TLS what arrives may be no answer but the protocol's own business (tickets of a session).
bool ClientSocket::has_something_to_read() {
  pollfd poll_fd{fd_, POLLIN, 0};
  const bool waiting = poll(&poll_fd, 1, 0) != 0;
  if (!tls_) return waiting;
  if (SSL_pending(tls_.get()) > 0) return true;
  if (!waiting) return false;
  char first = 0;
  const int count = SSL_peek(tls_.get(), &first, 1);
  const bool nothing = count <= 0 && events_of(tls_.get(), count) != 0;
  ERR_clear_error();
  return !nothing;
}

bool ClientSocket::fresh() {
  return !has_something_to_read();
}

Result<bool> ClientSocket::send(std::string_view data, ClientDeadline deadline) {
  return tls_ ? send_tls(data, deadline) : send_plain(data, deadline);
}

Result<bool> ClientSocket::send_plain(std::string_view data, ClientDeadline deadline) {
  while (!data.empty()) {
    TG_TRY(const short ready, wait_for(fd_, POLLIN | POLLOUT, deadline, interrupt_));
    if ((ready & POLLIN) != 0) return false;
    const ssize_t sent = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      data.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    }
  }
  return true;
}

Result<bool> ClientSocket::send_tls(std::string_view data, ClientDeadline deadline) {
  constexpr std::size_t kMost = 1U << 30;
  while (!data.empty()) {
    if (has_something_to_read()) return false;
    const int sent =
        SSL_write(tls_.get(), data.data(), static_cast<int>(std::min<std::size_t>(data.size(), kMost)));
    if (sent > 0) {
      data.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    const short events = events_of(tls_.get(), sent);
    ERR_clear_error();
    if (events == 0) return false;
    TG_TRY([[maybe_unused]] const short ready,
           wait_for(fd_, static_cast<short>(events | POLLIN), deadline, interrupt_));
  }
  return true;
}

Result<std::size_t> ClientSocket::read(void* into, std::size_t size, ClientDeadline deadline) {
  return tls_ ? read_tls(into, size, deadline) : read_plain(into, size, deadline);
}

Result<std::size_t> ClientSocket::read_plain(void* into, std::size_t size, ClientDeadline deadline) {
  while (true) {
    TG_TRY([[maybe_unused]] const short ready, wait_for(fd_, POLLIN, deadline, interrupt_));
    const ssize_t count = ::recv(fd_, into, size, 0);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == ECONNRESET) return connection_lost("connection reset");
    if (errno != EAGAIN && errno != EINTR) return fail(system_error("cannot read from the server", errno));
  }
}

Result<std::size_t> ClientSocket::read_tls(void* into, std::size_t size, ClientDeadline deadline) {
  while (true) {
    const int count = SSL_read(tls_.get(), into, static_cast<int>(size));
    if (count > 0) return static_cast<std::size_t>(count);
    const int problem = SSL_get_error(tls_.get(), count);
    if (problem == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
    const short events = events_of(tls_.get(), count);
    // Anybody on the way could cut a connection; only the server itself can say that it has ended.
    if (events == 0) return connection_lost(tls_reason());
    TG_TRY([[maybe_unused]] const short ready, wait_for(fd_, events, deadline, interrupt_));
  }
}

}  // namespace tangram::net

// The server's certificate and key, as files that may be replaced while it runs. TLS 1.2 and later.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

struct ssl_st;

namespace boost::asio::ssl {
class context;
}

namespace tangram::net {

struct TlsFiles {
  std::string certificate;  // PEM, the server's own first, then those between it and the root
  std::string key;          // PEM, not encrypted; may be in the same file
  // PEM: who vouches for clients; empty: they are not asked for a certificate. One that shows none, or one of
  // somebody else, may connect all the same: see Peer::certificate_name.
  std::string client_authority{};
};

// Thread-safe.
class TlsContext {
 public:
  // Errors (kInvalidArgument unless the system says otherwise): "net.tls.unreadable" names the file,
  // "net.tls.certificate.invalid", "net.tls.key.invalid", "net.tls.key.mismatch", "net.tls.key.exposed"
  // (everybody may read it). A certificate out of its time is used, with a warning in the log: clients will
  // refuse it, but the daemon serves its socket.
  static Result<std::shared_ptr<TlsContext>> load(TlsFiles files);

  // Reads the files again, for connections from now on. On an error what was there stays.
  Result<void> reload();

  const TlsFiles& files() const { return files_; }
  std::shared_ptr<boost::asio::ssl::context> current() const;

 private:
  TlsContext(TlsFiles files, std::shared_ptr<boost::asio::ssl::context> context)
      : files_(std::move(files)), context_(std::move(context)) {}

  const TlsFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

// The common name in the certificate that the client of a finished handshake has shown, if the authority of the
// files vouches for it; else empty.
std::string verified_client(ssl_st* tls);

}  // namespace tangram::net

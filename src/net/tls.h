// The server's certificate and key, as files that may be replaced while it runs. TLS 1.2 and later.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace boost::asio::ssl {
class context;
}

namespace tangram::net {

struct TlsFiles {
  std::string certificate;  // PEM, the server's own first, then those between it and the root
  std::string key;          // PEM, not encrypted; may be in the same file
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

}  // namespace tangram::net

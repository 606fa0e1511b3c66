// Whom a client trusts, and what it shows of itself.
#pragma once

#include <memory>

#include "base/result.h"
#include "net/client.h"

struct ssl_ctx_st;

namespace tangram::net {

// Made once, because the system's list is long. Thread-safe.
class ClientTrust {
 public:
  // The authorities of ca_pem, else of ca_file, else those that the system trusts. Errors:
  // "client.ca_file.unreadable", "client.certificate.invalid".
  static Result<std::shared_ptr<ClientTrust>> load(const ClientOptions& options);

  ssl_ctx_st* native() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit ClientTrust(ssl_ctx_st* context) : context_(context) {}

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace tangram::net

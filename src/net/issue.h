// Certificates of this process's own making: a small authority, and the servers and clients that it vouches
// for. For addresses whose clients are told whom to trust (webhooks of Kubernetes). Thread-safe: pure
// functions but for the random numbers of keys.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tangram::net {

// Both PEM; the key is not encrypted.
struct Identity {
  std::string certificate;
  std::string key;

  bool empty() const { return certificate.empty() || key.empty(); }
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct Validity {
  std::chrono::sys_seconds from;
  std::chrono::sys_seconds until;

  friend bool operator==(const Validity&, const Validity&) = default;
};

// An authority that signs certificates of servers and clients and nothing else. Errors: kInternal
// "net.tls.issue_failed".
Result<Identity> make_authority(std::string_view name, const Validity& validity);

// A server's certificate for these DNS names, at least one. Errors also kInvalidArgument
// "net.tls.certificate.invalid" and "net.tls.key.invalid" for an authority that is none.
Result<Identity> issue_certificate(const Identity& authority, std::span<const std::string> dns_names,
                                   const Validity& validity);

// A client's certificate: it may show itself as `name` (1 to 64 bytes), and serve nobody. Errors as above.
Result<Identity> issue_client_certificate(const Identity& authority, std::string_view name,
                                          const Validity& validity);

struct CertificateFacts {
  Validity validity;
  std::string name;                    // the subject's common name; empty if it has none
  std::vector<std::string> dns_names;  // in the certificate's order
};

// Of the first certificate in the PEM. "net.tls.certificate.invalid".
Result<CertificateFacts> facts_of(std::string_view certificate);

// Whether `authority` has signed `certificate`, both PEM. False for what is no certificate.
bool is_signed_by(std::string_view certificate, std::string_view authority);

}  // namespace tangram::net

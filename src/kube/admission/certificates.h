// The webhook's certificates: an authority of its own, and what it signs for the webhook's server and for the
// scheduler that asks the extender, with their renewal. Everything stands in one Secret, so that all replicas
// serve the same and none depends on another.
//
// An authority is renewed in two steps, because API servers learn of a new one some time after it is written
// into the webhook's configuration: first it is *announced* (trusted beside the old), later it signs. The old
// one stays trusted until it ends.
//
// advance() is pure but for the random numbers of keys, and takes the time from its caller. CertificateKeeper
// does the calls; it is used by one thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/api/client.h"
#include "net/issue.h"
#include "net/tls.h"

namespace tangram::kube::admission {

// The data of the Secret. What is empty is not there.
struct CertificateBook {
  net::Identity authority;  // signs; "ca.crt", "ca.key"
  net::Identity announced;  // will sign; "ca-next.crt", "ca-next.key"
  std::string before;       // has signed; "ca-before.crt"
  net::Identity serving;    // "tls.crt", "tls.key"
  net::Identity client;     // by which the scheduler shows itself; "client.crt", "client.key"

  // Whom clients are to trust: one PEM of all.
  std::string bundle() const;
  friend bool operator==(const CertificateBook&, const CertificateBook&) = default;
};

struct CertificateTerms {
  std::vector<std::string> dns_names;  // of the server: "tangram-webhook.tangram-system.svc"
  std::string client_name{};           // common name of the scheduler's certificate; empty: none is made
  std::chrono::seconds authority_life = std::chrono::days(3'650);
  std::chrono::seconds serving_life = std::chrono::days(90);  // of both certificates
  // From the announcement of an authority to its first signature.
  std::chrono::seconds announced_for = std::chrono::hours(1);
  // Certificates begin so much earlier, for clocks that are behind.
  std::chrono::seconds slack = std::chrono::minutes(10);
};

// The next state of the book; none: it is good as it is. What cannot be read is made anew. Each is renewed
// when less than a third of its life is left.
Result<std::optional<CertificateBook>> advance(const CertificateBook& book, const CertificateTerms& terms,
                                               std::chrono::sys_seconds now);

class CertificateKeeper {
 public:
  struct Options {
    std::string space;   // of the Secret
    std::string secret;  // its name
    std::string
        configuration;      // of the MutatingWebhookConfiguration; all of its webhooks trust the authority
    std::string directory;  // where the server's files are written: this process's own
    CertificateTerms terms;
  };

  CertificateKeeper(ApiClient& client, Options options);

  // Reads the Secret, carries it on, tells the API servers whom to trust, and writes the server's files:
  // tls.crt, tls.key, and ca.crt with those who sign clients. To be called every some minutes. True: the
  // files have changed, so that what was read from them is due to be read again. Errors:
  // those of the calls (kConflict: another replica was first; the next pass finds its work), of advance(),
  // and "net.tls.unreadable" when the files cannot be written.
  Result<bool> pass();

  net::TlsFiles files() const;
  std::string authority_file() const;

 private:
  struct Kept {
    CertificateBook book;
    std::string version;  // of the Secret; empty: it is not there
  };

  Result<Kept> read() const;
  Result<void> write(const Kept& before, const CertificateBook& book) const;
  Result<void> announce(const std::string& bundle) const;

  ApiClient& client_;
  const Options options_;
  CertificateBook written_;
};

}  // namespace tangram::kube::admission

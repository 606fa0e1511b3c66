// What tangram-kube keeps in order beside its work: the certificates of its server, and the label of the
// leader's Pod. Each has a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "kube/admission/certificates.h"
#include "kube/api/client.h"
#include "kube/process/leader_label.h"
#include "net/interrupt.h"
#include "net/tls.h"

namespace tangram::kube::process {

// Certificates of the server, and who vouches for the scheduler: written as files, renewed for as long as it
// runs.
class CertificateKeeping {
 public:
  struct Options {
    admission::CertificateKeeper::Options keeper;
    std::string scheduler_ca;  // a file of the operator's; empty: cluster_client_authority()
    std::chrono::milliseconds every{60'000};
    std::chrono::milliseconds again{2'000};  // after a failure, until it has succeeded once
  };

  // `client` must outlive it.
  CertificateKeeping(ApiClient& client, Options options);
  ~CertificateKeeping();  // stop()
  CertificateKeeping(const CertificateKeeping&) = delete;
  CertificateKeeping& operator=(const CertificateKeeping&) = delete;

  // Blocks until everything is there. Null: interrupted before. From then on it is renewed.
  std::shared_ptr<net::TlsContext> start();
  // From any thread: ends start() and the renewal.
  void interrupt();
  void stop();  // interrupt(), and waits. Not beside start()

 private:
  Result<void> pass();

  ApiClient& client_;
  const Options options_;
  admission::CertificateKeeper keeper_;
  std::string authority_;
  std::shared_ptr<net::TlsContext> context_;
  net::Interrupt stop_;
  std::thread thread_;
};

// The label follows the leadership until this goes; then it is given back.
class LabelKeeping {
 public:
  // `client` must outlive it. `leads`: thread-safe.
  LabelKeeping(ApiClient& client, LeaderLabel label, std::function<bool()> leads);
  ~LabelKeeping();
  LabelKeeping(const LabelKeeping&) = delete;
  LabelKeeping& operator=(const LabelKeeping&) = delete;

 private:
  void run();

  ApiClient& client_;
  LeaderLabel label_;
  const std::function<bool()> leads_;
  net::Interrupt stop_;
  std::thread thread_;
};

}  // namespace tangram::kube::process

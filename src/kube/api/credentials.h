// The way to the API server as it is at this moment: connections with the right certificates, and the token.
// Files are read again when they have changed, because all of them rotate: a projected token within the hour.
//
// Thread-safe. Network I/O never happens under a lock, and reading the files, about once a minute, is done by
// one caller while the others go on with what there is.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "kube/api/config.h"
#include "kube/api/timing.h"
#include "net/client.h"

namespace tangram::kube {

// One state of it; never changes.
struct Session {
  std::shared_ptr<net::HttpClient> http;
  std::string token;  // empty: none is sent. Never in a message

  // What `http` was made of, to see whether it is still the same.
  std::string authorities;
  std::string certificate;
  std::string key;
};

class Credentials {
 public:
  static constexpr std::chrono::milliseconds kReadEvery{60'000};

  // `body_bytes_max`: of one answer. Errors: "kube.config.unreadable" for a file, "kube.config.invalid" for a
  // token, and "client.certificate.invalid" for a certificate or key that cannot be used.
  static Result<std::unique_ptr<Credentials>> open(ClusterConfig config, std::size_t body_bytes_max,
                                                   std::shared_ptr<Timing> timing);

  // Reads the files first when it is time to. When that fails, what there was stays in use, and the log says
  // so: a file that is just being replaced must not stop anything.
  std::shared_ptr<const Session> current();

  // After the server did not accept `used`: reads now. Another session, or null when nothing has changed.
  std::shared_ptr<const Session> after_refusal(const std::shared_ptr<const Session>& used);

  const ClusterConfig& config() const { return config_; }

 private:
  Credentials(ClusterConfig config, std::size_t body_bytes_max, std::shared_ptr<Timing> timing);

  Result<std::shared_ptr<const Session>> read(const Session* before) const;
  std::shared_ptr<const Session> held() const;
  void refresh();

  const ClusterConfig config_;
  const std::size_t body_bytes_max_;
  const std::shared_ptr<Timing> timing_;
  const bool from_files_;
  std::atomic<std::int64_t> read_next_ms_ = 0;

  mutable std::mutex mutex_;
  std::shared_ptr<const Session> session_;
};

}  // namespace tangram::kube

// A lease on its way to its holder: an event for everything that changes, for as long as the lease is held.
// The stream is what holds it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/server.h"
#include "service/service.h"

namespace tangram::server {

// Thread-safe.
class LeaseStream : public std::enable_shared_from_this<LeaseStream> {
 public:
  // `may_go_on` is asked with every sign of life: whether the holder is still one that may hold.
  LeaseStream(service::Service& service, net::Responder responder, wire::Language language, bool local,
              std::function<Result<void>()> may_go_on);

  // To be handed to the service; keeps the stream alive.
  service::LeaseHolder holder();
  // The lease is there, or the error goes out in its place. Once.
  void begin(const Result<service::HeldLease>& lease);

 private:
  void update();
  void send_locked(bool& over);
  void keep_alive();
  void end();

  service::Service& service_;
  net::Responder responder_;
  const wire::Language language_;
  const bool local_;
  const std::function<Result<void>()> may_go_on_;

  std::mutex mutex_;
  std::optional<service::HeldLease> lease_;
  std::optional<net::StreamWriter> writer_;  // none: not begun, or over
  std::string last_;                         // the event that was sent last
};

}  // namespace tangram::server

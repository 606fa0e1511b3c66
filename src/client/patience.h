// Waiting for a daemon that went away under a call.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace tangram::client {

// Whether the way to the daemon failed, as opposed to the daemon saying no.
bool is_connection_error(const Error& error);

// A key under which nobody else submits: `prefix` and 128 random bits.
std::string make_idempotency_key(std::string_view prefix);

// For one call that is sent again until it is answered. Not thread-safe.
class Patience {
 public:
  // `on_wait` is called once, before the first rest; may be empty.
  explicit Patience(std::function<void()> on_wait = {},
                    std::chrono::milliseconds most = std::chrono::minutes(1))
      : on_wait_(std::move(on_wait)), most_(most) {}

  // Whether to try again after `error`: rests before it answers yes. No: the daemon has said something, or
  // has been away for too long.
  bool again_after(const Error& error);
  // The daemon was there meanwhile: a later error is waited for anew.
  void answered() { since_.reset(); }

 private:
  std::function<void()> on_wait_;
  std::chrono::milliseconds most_;
  std::optional<std::chrono::steady_clock::time_point> since_;
};

// For something that is under way: tries again until the daemon answers or the patience is over.
template <class T>
Result<T> patiently(Patience patience, const std::function<Result<T>()>& call) {
  while (true) {
    Result<T> result = call();
    if (result || !patience.again_after(result.error())) return result;
  }
}

// For a first call: a daemon that is not there is an error at once, one that goes away while it works on the
// call is waited for. The call must be one that may be sent twice.
template <class T>
Result<T> once_reached(Patience patience, const std::function<Result<T>()>& call) {
  Result<T> result = call();
  if (result || result.error().reason != "client.connection_lost") return result;
  return patiently<T>(std::move(patience), call);
}

}  // namespace tangram::client

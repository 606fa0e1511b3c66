// Waiting for a daemon that went away under a call, is busy, or holds its caller back for a while.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram::client {

// The detail of an Error in which the time stands that a server asked for, in milliseconds: of the header
// Retry-After (RFC 9110, 10.2.3), or of a problem that tells it more exactly.
inline constexpr std::string_view kRetryAfterMs = "retryAfterMs";

// Whether the same call may be answered a while later: the daemon was not reached, or it said so of itself
// (429, 503, 504) and not of the request (which may be too large).
bool may_pass(const Error& error);

// Numbers by which callers that were turned away together come back apart.
using Random = std::function<std::uint32_t()>;
std::uint32_t system_random();

// How long to rest after `error`: what the server asked for, at most 30 s, and at least 200 ms; up to half as
// much again by `random`.
std::chrono::milliseconds rest_after(const Error& error, std::uint32_t random);

// A key under which nobody else submits: `prefix` and 128 random bits.
std::string make_idempotency_key(std::string_view prefix);

struct PatienceOptions {
  // Called once for each time that the daemon is away or busy: before the first rest, or where no more than a
  // connection has broken, before the second. May be empty.
  std::function<void(const Error&)> on_wait = {};
  std::chrono::milliseconds away_max = std::chrono::minutes(1);   // without a word of the daemon
  std::chrono::milliseconds busy_max = std::chrono::minutes(10);  // with none but refusals that may pass
  Random random = system_random;
  std::function<void(std::chrono::milliseconds)> rest = {};  // empty: sleeps
};

// For calls that belong together (a command), each sent again until it is answered. Not thread-safe.
//
// A daemon that refuses the first call of all, or is not there then, is an error at once; one that goes away
// while it works on that call is waited for. Hence a first call must be one that may be sent twice.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  using Deadline = std::optional<Clock::time_point>;

  explicit Patience(PatienceOptions options = {});

  // Whether to try again after `error`: rests before it answers yes, never beyond `end`. No: the daemon has
  // said something, has been away or busy for too long, or the end has come.
  bool again_after(const Error& error, Deadline end = {});
  // The daemon gave an answer: from now on the calls are under way, and a later error is waited for anew.
  void answered();

 private:
  PatienceOptions options_;
  bool under_way_ = false;
  std::optional<Clock::time_point> away_since_;
  std::optional<Clock::time_point> busy_since_;
  bool away_told_ = false;
  bool busy_told_ = false;
};

// Tries again until there is an answer or the patience is over.
template <class T>
Result<T> patiently(Patience& patience, const std::function<Result<T>()>& call, Patience::Deadline end = {}) {
  while (true) {
    Result<T> result = call();
    if (result) patience.answered();
    if (result || !patience.again_after(result.error(), end)) return result;
  }
}

}  // namespace tangram::client

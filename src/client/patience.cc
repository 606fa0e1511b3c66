#include "client/patience.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

namespace tangram::client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRestLeast{200};
// What a server may ask for: one that asks for a day is not to be taken at its word.
constexpr milliseconds kRestMost{30'000};

constexpr std::string_view kConnectionLost = "client.connection_lost";

// Whether the way to the daemon failed, as opposed to the daemon saying no.
bool is_on_the_way(const Error& error) {
  return error.reason.starts_with("client.");
}

milliseconds told_rest(const Error& error) {
  for (const auto& [name, value] : error.details) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (name == kRetryAfterMs && number != nullptr)
      return milliseconds(std::clamp<std::int64_t>(*number, 0, kRestMost.count()));
  }
  return milliseconds(0);
}

}  // namespace

bool may_pass(const Error& error) {
  switch (error.code) {
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return true;
    case Code::kResourceExhausted:
      return !error.reason.ends_with(".too_large") && error.reason != "http.413";
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
    case Code::kFailedPrecondition:
    case Code::kPolicyRefused:
    case Code::kNotNow:
    case Code::kAborted:
    case Code::kDataLoss:
    case Code::kUnimplemented:
    case Code::kInternal:
      return false;
  }
  return false;
}

std::uint32_t system_random() {
  return std::random_device()();
}

milliseconds rest_after(const Error& error, std::uint32_t random) {
  const milliseconds rest = std::max(kRestLeast, told_rest(error));
  const auto spread = static_cast<std::uint32_t>(rest.count() / 2 + 1);
  return rest + milliseconds(random % spread);
}

std::string make_idempotency_key(std::string_view prefix) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device source;
  std::string key(prefix);
  for (int i = 0; i < 32; ++i) key += kDigits[source() % kDigits.size()];
  return key;
}

Patience::Patience(PatienceOptions options) : options_(std::move(options)) {
  if (!options_.rest) options_.rest = [](milliseconds time) { std::this_thread::sleep_for(time); };
}

bool Patience::again_after(const Error& error, Deadline end) {
  if (!may_pass(error)) {
    if (!is_on_the_way(error)) answered();
    return false;
  }
  if (!under_way_ && error.reason != kConnectionLost) return false;
  under_way_ = true;
  const Clock::time_point now = Clock::now();
  if (end && now >= *end) return false;
  const bool away = is_on_the_way(error);
  // One that refuses is there.
  if (!away) away_since_.reset();
  std::optional<Clock::time_point>& since = away ? away_since_ : busy_since_;
  // A stream that broke off may be its reader's fault, who was too slow: nothing is known of the daemon yet.
  const bool only_broken = !since && error.reason == kConnectionLost;
  bool& told = away ? away_told_ : busy_told_;
  if (!since) {
    since = now;
    told = false;
  }
  if (!told && !only_broken) {
    told = true;
    if (options_.on_wait) options_.on_wait(error);
  }
  if (now - *since > (away ? options_.away_max : options_.busy_max)) return false;
  milliseconds rest = rest_after(error, options_.random());
  if (end) rest = std::min(rest, std::chrono::ceil<milliseconds>(*end - now));
  options_.rest(rest);
  return true;
}

void Patience::answered() {
  under_way_ = true;
  away_since_.reset();
  busy_since_.reset();
}

}  // namespace tangram::client

#include "client/patience.h"

#include <random>
#include <thread>
#include <utility>

namespace tangram::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenTries{200};

}  // namespace

bool is_connection_error(const Error& error) {
  return error.reason == "client.unreachable" || error.reason == "client.connection_lost" ||
         error.reason == "client.timeout";
}

std::string make_idempotency_key(std::string_view prefix) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device source;
  std::string key(prefix);
  for (int i = 0; i < 32; ++i) key += kDigits[source() % kDigits.size()];
  return key;
}

bool Patience::again_after(const Error& error) {
  if (!is_connection_error(error)) return false;
  const Clock::time_point now = Clock::now();
  if (!since_) {
    since_ = now;
    if (on_wait_) on_wait_();
  }
  if (now - *since_ > most_) return false;
  std::this_thread::sleep_for(kBetweenTries);
  return true;
}

}  // namespace tangram::client

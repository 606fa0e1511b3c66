#include "net/handshake_pace.h"

#include <algorithm>

#include "base/invariant.h"

namespace tangram::net {
namespace {

constexpr std::chrono::milliseconds kLook{100};

}  // namespace

HandshakePace::HandshakePace(std::size_t per_second)
    : space_(std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(1)) /
             static_cast<std::int64_t>(std::max<std::size_t>(per_second, 1))),
      half_of_all_(space_ * 2 / static_cast<std::int64_t>(kNetworks)) {
  TG_ASSERT(per_second > 0, "a pace is above zero");
}

std::optional<HandshakePace::Clock::duration> HandshakePace::wait_of(Paced paced, Clock::time_point now) {
  const Clock::duration wait = std::max(paced - kRest - now, Clock::duration::zero());
  return wait <= kWaitMax ? std::optional(wait) : std::nullopt;
}

std::optional<HandshakePace::Clock::duration> HandshakePace::begin(std::string_view network,
                                                                   Clock::time_point now) {
  forget_old(now);
  const auto found = networks_.find(network);
  const bool is_new = found == networks_.end();
  const auto wait = wait_of(is_new ? new_ : found->second, now);
  if (!wait) return std::nullopt;
  const auto among = static_cast<std::int64_t>(networks_.size() + (is_new ? 1 : 0));
  const Clock::duration space = std::max(space_, half_of_all_ * among);
  if (is_new) {
    new_ = std::max(new_, now) + half_of_all_;
    networks_.emplace(network, now + space);
  } else {
    found->second = std::max(found->second, now) + space;
  }
  return wait;
}

// What is left had a handshake in the last seconds, of which there are few: the paces bound them.
void HandshakePace::forget_old(Clock::time_point now) {
  if (now < look_at_) return;
  look_at_ = now + kLook;
  std::erase_if(networks_, [now](const auto& entry) { return entry.second + kMemory <= now; });
}

}  // namespace tangram::net

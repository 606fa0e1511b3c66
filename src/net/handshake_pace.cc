#include "net/handshake_pace.h"

#include <algorithm>

#include "base/invariant.h"

namespace tangram::net {
namespace {

constexpr std::size_t kForgetAbove = 256;

}  // namespace

HandshakePace::HandshakePace(std::size_t per_second)
    : space_(std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(1)) /
             static_cast<std::int64_t>(std::max<std::size_t>(per_second, 1))),
      space_of_all_(space_ / static_cast<std::int64_t>(kNetworks)),
      forget_above_(kForgetAbove) {
  TG_ASSERT(per_second > 0, "a pace is above zero");
}

std::optional<HandshakePace::Clock::duration> HandshakePace::wait_of(Paced paced, Clock::time_point now) {
  const Clock::duration wait = std::max(paced - kRest - now, Clock::duration::zero());
  return wait <= kWaitMax ? std::optional(wait) : std::nullopt;
}

std::optional<HandshakePace::Clock::duration> HandshakePace::begin(std::string_view network,
                                                                   Clock::time_point now) {
  const auto found = networks_.find(network);
  const auto own = found == networks_.end() ? Clock::duration::zero() : wait_of(found->second, now);
  const auto of_all = wait_of(all_, now);
  if (!own || !of_all) return std::nullopt;
  all_ = std::max(all_, now) + space_of_all_;
  if (found != networks_.end()) {
    found->second = std::max(found->second, now) + space_;
  } else {
    forget_rested(now);
    networks_.emplace(network, now + space_);
  }
  return std::max(*own, *of_all);
}

// What is left had a handshake in the last seconds, of which there are few: the pace of all bounds them.
void HandshakePace::forget_rested(Clock::time_point now) {
  if (networks_.size() < forget_above_) return;
  std::erase_if(networks_, [now](const auto& entry) { return entry.second <= now; });
  forget_above_ = std::max(kForgetAbove, 2 * networks_.size());
}

}  // namespace tangram::net

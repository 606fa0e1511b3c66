// How fast TLS handshakes may begin: of one network (net/listen.h), and of all together. Each costs the I/O
// thread, which serves everybody, half a millisecond or more before anything is known of the peer; so whoever
// makes a connection for each request, or none after its handshake, would hold up those who are known.
//
// Half of what all together may begin is for networks that have not come for a while, in the order in which
// they come. The other half is shared evenly by those that come again and again: however many of them there
// are, they do not keep out one that is new.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::net {

// Not thread-safe.
class HandshakePace {
 public:
  using Clock = std::chrono::steady_clock;

  // After a rest so many seconds' worth may begin at once.
  static constexpr std::chrono::seconds kRest{2};
  // Beyond the pace a handshake waits for its turn, but not longer.
  static constexpr std::chrono::seconds kWaitMax{1};
  // Of all networks together, times that of one.
  static constexpr std::size_t kNetworks = 4;
  // Whoever has not come for so long is new.
  static constexpr std::chrono::seconds kMemory{10};

  // `per_second`: of one network; above zero.
  explicit HandshakePace(std::size_t per_second);

  // How long a handshake of that network must wait before it begins; it counts from now on. None: too many
  // wait already, and it does not count.
  std::optional<Clock::duration> begin(std::string_view network, Clock::time_point now);

  // Networks that are not new.
  std::size_t size() const { return networks_.size(); }

 private:
  // When all that began would have, evenly spaced.
  using Paced = Clock::time_point;

  static std::optional<Clock::duration> wait_of(Paced paced, Clock::time_point now);
  void forget_old(Clock::time_point now);

  const Clock::duration space_;        // between two of one network, when few come
  const Clock::duration half_of_all_;  // between two of all networks that are new, and of all that are not
  Paced new_{};
  std::map<std::string, Paced, std::less<>> networks_;  // those that are not new
  Clock::time_point look_at_{};                         // when to look for those to forget
};

}  // namespace tangram::net

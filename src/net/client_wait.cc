#include "net/client_wait.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

namespace tangram::net {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Result<short> wait_for(int fd, short events, ClientDeadline deadline, const Interrupt* interrupt) {
  while (true) {
    if (interrupt != nullptr && interrupt->raised()) return client_interrupted();
    int timeout_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
      timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
    }
    // A descriptor below 0 is passed over.
    std::array<pollfd, 2> watched{
        {{fd, events, 0}, {interrupt != nullptr ? interrupt->fd() : -1, POLLIN, 0}}};
    const int ready = poll(watched.data(), watched.size(), timeout_ms);
    if (ready > 0 && watched[0].revents != 0) return watched[0].revents;
    if (ready == 0) return client_timed_out();
    if (ready < 0 && errno != EINTR) return fail(system_error("cannot wait for the server", errno));
  }
}

tl::unexpected<Error> connection_lost(std::string_view what) {
  return fail(Code::kUnavailable, "client.connection_lost",
              "the server closed the connection before its answer was whole (" + std::string(what) + ")",
              "look at the log of the daemon, then try again");
}

tl::unexpected<Error> client_timed_out() {
  return fail(Code::kDeadlineExceeded, "client.timeout", "the server did not answer in time",
              "try again, or allow more time");
}

tl::unexpected<Error> client_interrupted() {
  return fail(Code::kAborted, "client.interrupted", "the call was given up before its answer came");
}

}  // namespace tangram::net

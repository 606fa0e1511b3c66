// How a client waits: until something happens, until its time is over, or until it is interrupted.
// Thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "net/interrupt.h"

namespace tangram::net {

// The latest moment at which an operation may end. An empty one never ends.
using ClientDeadline = std::optional<std::chrono::steady_clock::time_point>;

// Waits until the descriptor is ready for one of `events` (of poll(2)); the events that came. `interrupt` may
// be null. Errors: kDeadlineExceeded "client.timeout", kAborted "client.interrupted".
Result<short> wait_for(int fd, short events, ClientDeadline deadline, const Interrupt* interrupt);

// ---- errors of the way to a server

tl::unexpected<Error> connection_lost(std::string_view what);
tl::unexpected<Error> client_timed_out();
tl::unexpected<Error> client_interrupted();

}  // namespace tangram::net

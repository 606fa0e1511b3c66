// The words between an executor and a supervisor: one packet (SOCK_SEQPACKET) is one short ASCII line.
//
//   to the supervisor:    go | stop cancelled | stop device_lost | status
//   from the supervisor:  state waiting | state running | state ended     (as an answer, and at each change)
//                         failed <code> <sentence>                        (it could not get ready, and ends)
//
// The connection that a supervisor is born with counts as its daemon: when that one ends before `go`, nothing
// is ever started. Connections made later over control.sock have no such meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/executor.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

inline constexpr std::string_view kGo = "go";
inline constexpr std::string_view kStatus = "status";
inline constexpr std::string_view kStopCancelled = "stop cancelled";
inline constexpr std::string_view kStopDeviceLost = "stop device_lost";
inline constexpr std::string_view kStateWaiting = "state waiting";
inline constexpr std::string_view kStateRunning = "state running";
inline constexpr std::string_view kStateEnded = "state ended";

std::string_view stop_word(StopReason reason);

// `failed …`, and back. Of the codes only kResourceExhausted passes (it may go away by itself); others become
// kUnavailable.
std::string failed_word(const Error& error);
Error failed_error(std::string_view packet);

enum class Received : std::uint8_t { kPacket, kNothing, kEnd };

// Non-blocking. kEnd also for a broken connection.
Received receive_packet(int fd, std::string& packet);

// Non-blocking; false when the other side is gone or does not read.
bool send_packet(int fd, std::string_view packet);

// A listening socket at `path`, mode 0600. Works for paths longer than a socket address can hold.
Result<UniqueFd> listen_at(const std::string& path);
Result<UniqueFd> connect_to(const std::string& path);

// A non-blocking connection that waits at a listening socket; nullopt when none does.
std::optional<UniqueFd> accept_from(int listener);

}  // namespace tangram::runner

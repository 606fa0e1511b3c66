#include "runner/control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tangram::runner {
namespace {

constexpr std::size_t kPacketMax = 4096;
constexpr int kBacklog = 8;
constexpr std::string_view kFailedPrefix = "failed ";

// The directory is named by a descriptor, because a path may be longer than sun_path.
Result<sockaddr_un> socket_address(int directory, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = "/proc/self/fd/" + std::to_string(directory) + path.substr(path.rfind('/'));
  if (text.size() >= sizeof address.sun_path) {
    return fail(Code::kInvalidArgument, "runner.socket.name", "the socket name of " + path + " is too long");
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

Result<UniqueFd> open_parent(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  UniqueFd fd(open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fail(system_error("cannot open " + parent, errno));
  return fd;
}

template <class Call>
Result<UniqueFd> with_socket(const std::string& path, const std::string& what, Call call) {
  TG_TRY(const UniqueFd parent, open_parent(path));
  TG_TRY(const sockaddr_un address, socket_address(parent.get(), path));
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fail(system_error("cannot create a socket", errno));
  if (!call(fd.get(), reinterpret_cast<const sockaddr*>(&address))) {
    return fail(system_error(what + " " + path, errno));
  }
  return fd;
}

}  // namespace

std::string failed_word(const Error& error) {
  return std::string(kFailedPrefix) + std::string(to_string(error.code)) + " " + error.to_string();
}

Error failed_error(std::string_view packet) {
  Error error{Code::kUnavailable, "runner.supervisor.failed", std::string(packet), "", {}, nullptr};
  if (!packet.starts_with(kFailedPrefix)) return error;
  packet.remove_prefix(kFailedPrefix.size());
  const std::size_t end = std::min(packet.find(' '), packet.size());
  if (packet.substr(0, end) == to_string(Code::kResourceExhausted)) error.code = Code::kResourceExhausted;
  error.message = std::string(packet.substr(std::min(end + 1, packet.size())));
  return error;
}

std::string_view stop_word(StopReason reason) {
  switch (reason) {
    case StopReason::kCancelled:
      return kStopCancelled;
    case StopReason::kDeviceLost:
      return kStopDeviceLost;
  }
  return kStopCancelled;
}

Received receive_packet(int fd, std::string& packet) {
  char buffer[kPacketMax];
  ssize_t got = 0;
  do {
    got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::kNothing;
  if (got <= 0) return Received::kEnd;
  packet.assign(buffer, static_cast<std::size_t>(got));
  return Received::kPacket;
}

bool send_packet(int fd, std::string_view packet) {
  const std::string_view cut = packet.substr(0, kPacketMax);
  return send(fd, cut.data(), cut.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(cut.size());
}

Result<UniqueFd> listen_at(const std::string& path) {
  unlink(path.c_str());
  TG_TRY(UniqueFd fd, with_socket(path, "cannot listen at", [](int made, const sockaddr* address) {
           return bind(made, address, sizeof(sockaddr_un)) == 0 && listen(made, kBacklog) == 0;
         }));
  if (chmod(path.c_str(), 0600) != 0) return fail(system_error("cannot protect " + path, errno));
  return fd;
}

Result<UniqueFd> connect_to(const std::string& path) {
  return with_socket(path, "cannot connect to", [](int made, const sockaddr* address) {
    return connect(made, address, sizeof(sockaddr_un)) == 0;
  });
}

std::optional<UniqueFd> accept_from(int listener) {
  UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) return std::nullopt;
  return fd;
}

}  // namespace tangram::runner

#include "ascendsim/protocol/connection.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ascendsim {
namespace {

constexpr std::size_t kDescriptorsMax = 2;

bool send_packet(int socket, const RequestHeader& header, const void* body, std::size_t body_bytes) {
  std::array<iovec, 2> parts{};
  parts[0] = {const_cast<RequestHeader*>(&header), sizeof header};
  parts[1] = {const_cast<void*>(body), body_bytes};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = body_bytes == 0 ? 1 : 2;
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof header + body_bytes);
}

void take_descriptors(msghdr& message, std::vector<Descriptor>* into) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      Descriptor owned(fd);
      if (into != nullptr) into->push_back(std::move(owned));
    }
  }
}

ssize_t receive_packet(int socket, std::vector<unsigned char>& packet, std::vector<Descriptor>* descriptors) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kDescriptorsMax)> control{};
  iovec part{packet.data(), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received > 0) take_descriptors(message, descriptors);
  return received;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() {
  return std::exchange(fd_, -1);
}

void Descriptor::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::string driver_socket_path(const void* address_in_library) {
  if (const char* chosen = std::getenv("ASCENDSIM_SOCKET"); chosen != nullptr && *chosen != '\0')
    return chosen;
  Dl_info info{};
  if (dladdr(address_in_library, &info) == 0 || info.dli_fname == nullptr) return "../run/ascendsim.sock";
  const std::string library = info.dli_fname;
  const std::size_t slash = library.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : library.substr(0, slash);
  return folder + "/../run/ascendsim.sock";
}

Connection::Connection(Connection&& other) noexcept : socket_(std::move(other.socket_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  socket_ = std::move(other.socket_);
  return *this;
}

Connection Connection::open(const std::string& path) {
  Connection connection;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Descriptor parent;
  std::string name = path;
  // A path may be longer than a socket address can hold; then it is reached through a descriptor of its
  // folder.
  if (name.size() >= sizeof address.sun_path) {
    const std::size_t slash = path.rfind('/');
    parent = Descriptor(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    name = "/proc/self/fd/" + std::to_string(parent.get()) + path.substr(slash);
  }
  if (name.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return connection;
  }
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return connection;
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return connection;
  connection.socket_ = std::move(socket);
  return connection;
}

CallResult Connection::exchange_packets(RequestType type, std::uint32_t npu, Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  CallResult result;
  if (!socket_.valid()) return result;
  const RequestHeader header{kMagic, kProtocolVersion, type, npu};
  if (!send_packet(socket_.get(), header, exchange.body, exchange.body_bytes)) return result;
  std::vector<unsigned char> packet(exchange.record_bytes == 0 ? std::size_t{4096} : kPacketBytesMax);
  const ssize_t received = receive_packet(socket_.get(), packet, exchange.descriptors);
  if (received < static_cast<ssize_t>(sizeof(ReplyHeader))) return result;

  ReplyHeader reply{};
  std::memcpy(&reply, packet.data(), sizeof reply);
  if (reply.magic != kMagic) return result;
  result.connected = true;
  result.status = reply.status;
  if (reply.status != Status::kOk) return result;
  const std::size_t record_bytes_all = std::size_t{reply.record_count} * reply.record_bytes;
  const bool fits =
      static_cast<std::size_t>(received) == sizeof reply + exchange.reply_bytes + record_bytes_all &&
      (reply.record_count == 0 || reply.record_bytes == exchange.record_bytes);
  if (!fits) return CallResult{};
  if (exchange.reply_bytes != 0)
    std::memcpy(exchange.reply, packet.data() + sizeof reply, exchange.reply_bytes);
  const auto first = packet.begin() + static_cast<std::ptrdiff_t>(sizeof reply + exchange.reply_bytes);
  exchange.records.assign(first, first + static_cast<std::ptrdiff_t>(record_bytes_all));
  return result;
}

CallResult query_machine(Connection& connection, MachineSnapshot* snapshot) {
  return connection.call<Connection::NoBody, MachineReply, NpuRecord>(RequestType::kMachine, 0, {},
                                                                      &snapshot->machine, &snapshot->npus);
}

CallResult query_processes(Connection& connection, std::uint32_t logic_id,
                           std::vector<ProcessRecord>* processes) {
  Connection::NoBody none;
  return connection.call<Connection::NoBody, Connection::NoBody, ProcessRecord>(
      RequestType::kProcesses, logic_id, {}, &none, processes);
}

}  // namespace ascendsim

#include "ascendsim/daemon/server.h"

#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace ascendsim {
namespace {

// What an epoll event is about: the low two bits say which descriptor of which client (the rest).
enum Source : std::uint64_t { kSocket = 0, kProcess = 1, kBell = 2, kOwn = 3 };
constexpr std::uint64_t kListenerTag = (0 << 2) | kOwn;
constexpr std::uint64_t kTimerTag = (1 << 2) | kOwn;
constexpr std::uint64_t kSignalTag = (2 << 2) | kOwn;

constexpr int kEventsMax = 64;
constexpr int kRequestsPerTurn = 16;  // then the other clients have a turn

Descriptor process_of(int socket, pid_t pid) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) return Descriptor(fd);
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void drain_bell(int bell) {
  std::array<char, 4096> bytes{};
  while (recv(bell, bytes.data(), bytes.size(), MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size())) {
  }
}

// Completions are told as precisely as the host lets us.
void become_punctual() {
  prctl(PR_SET_TIMERSLACK, 1);
  const sched_param parameter{1};
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) != 0) {
    log_info("no real-time priority: completions may be told late; model time is not affected");
  }
}

}  // namespace

Server::Server(const DriverTree& tree, Driver* driver) : tree_(tree), driver_(driver), packet_(4096) {}

bool Server::watch(int fd, std::uint64_t tag, std::uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Result<void> Server::set_up() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  signals_ = Descriptor(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  const bool ready = epoll_.valid() && timer_.valid() && signals_.valid() &&
                     watch(tree_.listener.get(), kListenerTag, EPOLLIN) &&
                     watch(timer_.get(), kTimerTag, EPOLLIN) && watch(signals_.get(), kSignalTag, EPOLLIN);
  if (!ready) return fail(system_problem("cannot set up the event loop", errno));
  become_punctual();
  return {};
}

void Server::accept_clients() {
  for (int i = 0; i < kRequestsPerTurn; ++i) {
    Descriptor socket(accept4(tree_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) continue;
    Descriptor process = process_of(socket.get(), peer.pid);
    if (!process.valid()) continue;  // dead already
    Client* client = driver_->add_client(std::move(socket), std::move(process), peer.pid, peer.uid);
    if (client == nullptr) continue;
    const bool watched = watch(client->socket.get(), client->id << 2 | kSocket, EPOLLIN) &&
                         watch(client->process.get(), client->id << 2 | kProcess, EPOLLIN);
    if (!watched) client->doomed = true;
  }
}

void Server::send_reply(Client& client, const Reply& reply) const {
  iovec part{const_cast<unsigned char*>(reply.packet.data()), reply.packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!reply.descriptors.empty()) {
    const std::size_t bytes = reply.descriptors.size() * sizeof(int);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(rights), reply.descriptors.data(), bytes);
  }
  // A client that asks without reading the answers is not waited for.
  if (sendmsg(client.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) client.doomed = true;
}

void Server::receive(Client& client) {
  for (int i = 0; i < kRequestsPerTurn && !client.doomed; ++i) {
    const ssize_t received =
        recv(client.socket.get(), packet_.data(), packet_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (received <= 0 || static_cast<std::size_t>(received) > packet_.size()) {
      client.doomed = true;
      return;
    }
    const bool had_rings = client.rings.get() != nullptr;
    Reply reply;
    if (!driver_->handle(client, packet_.data(), static_cast<std::size_t>(received), &reply)) {
      log_provoked("process " + std::to_string(client.pid) + " of user " + std::to_string(client.uid) +
                   " dropped: not the driver's protocol");
      client.doomed = true;
      return;
    }
    const bool attached = !had_rings && client.rings.get() != nullptr;
    if (attached && !watch(client.bell.get(), client.id << 2 | kBell, EPOLLIN)) client.doomed = true;
    send_reply(client, reply);
  }
}

void Server::serve(std::uint64_t tag) {
  Client* client = driver_->find(tag >> 2);
  if (client == nullptr) return;
  switch (static_cast<Source>(tag & 3)) {
    case kSocket:
      receive(*client);
      break;
    case kProcess:
      client->doomed = true;
      break;
    case kBell:
      drain_bell(client->bell.get());
      break;
    case kOwn:
      break;
  }
}

// After every turn: all work that is in, then model time up to now, then the bells, then the dead.
void Server::settle() {
  for (const auto& [id, client] : driver_->clients()) driver_->drain(*client);
  const std::uint64_t next_ns = driver_->advance();
  std::vector<ClientId> doomed;
  for (const auto& [id, client] : driver_->clients()) {
    if (client->ring_bell && send(client->bell.get(), "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN) {
      client->doomed = true;
    }
    client->ring_bell = false;
    if (client->doomed) doomed.push_back(id);
  }
  for (const ClientId id : doomed) driver_->remove_client(id);
  // An engine may have come free with a client that went.
  set_timer(doomed.empty() ? next_ns : 0);
  if (driver_->reboot_asked()) stopping_ = true;
}

void Server::set_timer(std::uint64_t at_ns) const {
  itimerspec when{};
  if (at_ns != Timeline::kNever) {
    when.it_value.tv_sec = static_cast<time_t>(at_ns / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(at_ns % 1'000'000'000);
    if (at_ns == 0) when.it_value.tv_nsec = 1;  // at once; zero would mean never
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

Result<void> Server::run() {
  if (auto ready = set_up(); !ready) return ready;
  std::array<epoll_event, kEventsMax> events{};
  while (!stopping_) {
    const int count = epoll_wait(epoll_.get(), events.data(), kEventsMax, -1);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
      if (tag == kListenerTag) {
        accept_clients();
      } else if (tag == kSignalTag) {
        stopping_ = true;
      } else if (tag == kTimerTag) {
        std::uint64_t expirations = 0;
        if (read(timer_.get(), &expirations, sizeof expirations) < 0) continue;  // re-armed meanwhile
      } else {
        serve(tag);
      }
    }
    settle();
  }
  return {};
}

}  // namespace ascendsim

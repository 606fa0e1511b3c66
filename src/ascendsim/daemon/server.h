// The event loop of ascendsimd: one thread, one epoll.
#pragma once

#include <vector>

#include "ascendsim/daemon/driver.h"
#include "ascendsim/daemon/driver_tree.h"

namespace ascendsim {

class Server {
 public:
  Server(const DriverTree& tree, Driver* driver);

  // Until SIGTERM or SIGINT. A problem: the loop could not be set up.
  Result<void> run();

 private:
  Result<void> set_up();
  bool watch(int fd, std::uint64_t tag, std::uint32_t events) const;
  void accept_clients();
  void serve(std::uint64_t tag);
  void receive(Client& client);
  void send_reply(Client& client, const Reply& reply) const;
  void settle();
  void set_timer(std::uint64_t at_ns) const;

  const DriverTree& tree_;
  Driver* driver_;
  Descriptor epoll_;
  Descriptor timer_;
  Descriptor signals_;
  std::vector<unsigned char> packet_;
  bool stopping_ = false;
};

}  // namespace ascendsim

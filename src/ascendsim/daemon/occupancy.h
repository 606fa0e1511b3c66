// Which containers hold which devices. A container, which is a mount namespace, takes all devices that it may
// open with its first use of the driver, and gives them back when its last process has ended, not before.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ascendsim/daemon/access.h"

namespace ascendsim {

// What the kernel driver makes of a process's cpuset path, of which it reads 33 bytes: twelve hexadecimal
// digits after "docker/" or "docker-", and all ones where that word does not stand there.
std::uint64_t container_id_of_cpuset(const std::string& path);
std::uint64_t container_id_of(pid_t pid);

// Not thread-safe. Devices are numbers of the caller's.
class Occupancy {
 public:
  void enter(const std::vector<std::uint32_t>& devices, const MountNamespace& space,
             std::uint64_t container_id);
  // Lets go of the namespaces in which no process lives any more. Reads /proc; not more often than every
  // `patience_ns`.
  void settle(std::uint64_t now_ns, std::uint64_t patience_ns);
  // The container id of a holder, if there is one.
  std::optional<std::uint64_t> holder(std::uint32_t device) const;
  bool held_by_another(std::uint32_t device, const MountNamespace& space) const;
  void forget(std::uint32_t device) { holders_.erase(device); }

 private:
  // A process by its id and the time of its start.
  using Process = std::pair<pid_t, std::uint64_t>;
  struct Holder {
    std::uint64_t container_id = 0;
    // Who lived in it when it was looked at last. The kernel gives the number of a dead namespace to the next
    // one at once, so the number alone does not tell that it still lives.
    std::set<Process> witnesses;
  };
  using Census = std::map<MountNamespace, std::set<Process>>;

  // Who lives in those of `holders_` and in `another`.
  Census census(const MountNamespace& another) const;

  std::map<std::uint32_t, std::map<MountNamespace, Holder>> holders_;
  std::uint64_t settled_ns_ = 0;
};

}  // namespace ascendsim

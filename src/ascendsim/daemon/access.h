// Which NPUs a process may use: worked out from its own root directory and device cgroup, as the kernel
// driver and the kernel's device check do, and never from anything the process says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ascendsim {

// The character nodes of this machine. `major` 0: there are none, and nothing is walled off.
struct NodeSet {
  std::uint32_t major = 0;
  std::string folder;  // <root>/dev
};

struct PeerAccess {
  bool in_container = false;           // another mount namespace than ours
  std::vector<std::uint32_t> phy_ids;  // ascending
};

// `peer` must be alive when this returns; the caller holds a pidfd and checks that. An unreadable peer has
// nothing.
PeerAccess peer_access(pid_t peer, const NodeSet& nodes, const std::vector<std::uint32_t>& phy_ids);

// The same mount namespace as `other`? False when one of them cannot be read.
bool same_mount_namespace(pid_t one, pid_t other);

// What the text of a v1 `devices.list` says about reading and writing a character node.
bool device_list_allows(const std::string& list, std::uint32_t major, std::uint32_t minor);

}  // namespace ascendsim

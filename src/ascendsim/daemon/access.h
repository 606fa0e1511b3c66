// Which NPUs a process may use: worked out from its own root directory and device cgroup, as the kernel
// driver and the kernel's device check do, and never from anything the process says.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace ascendsim {

// The character nodes of this machine. `major` 0: there are none, and nothing is walled off.
struct NodeSet {
  std::uint32_t major = 0;
  std::string folder;  // <root>/dev
};

// "davinci3" of an NPU, "vdavinci148" of a virtual device.
struct DeviceNode {
  std::uint32_t minor = 0;
  bool virtual_device = false;

  std::string name() const { return (virtual_device ? "vdavinci" : "davinci") + std::to_string(minor); }
};

struct PeerAccess {
  bool in_container = false;          // another mount namespace than ours
  bool privileged = false;            // root that may do what root of the host may
  std::vector<std::uint32_t> minors;  // of `devices`, in their order
};

// `peer` must be alive when this returns; the caller holds a pidfd and checks that. An unreadable peer has
// nothing. In a container a virtual device counts under any davinci name: runtimes and people name it
// differently.
PeerAccess peer_access(pid_t peer, const NodeSet& nodes, const std::vector<DeviceNode>& devices);

// A mount namespace, or nothing for a process that has died or cannot be read. `inode` 0 is none.
struct MountNamespace {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  auto operator<=>(const MountNamespace&) const = default;
};
MountNamespace mount_namespace(pid_t pid);

// The same mount namespace as `other`? False when one of them cannot be read.
bool same_mount_namespace(pid_t one, pid_t other);

// What the text of a v1 `devices.list` says about reading and writing a character node.
bool device_list_allows(const std::string& list, std::uint32_t major, std::uint32_t minor);

}  // namespace ascendsim

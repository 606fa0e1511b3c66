// The files of an installed driver below one root: libraries, socket, version, device nodes. One ascendsimd
// per root.
#pragma once

#include <string>

#include "ascendsim/daemon/access.h"
#include "ascendsim/daemon/machine.h"
#include "ascendsim/daemon/result.h"
#include "ascendsim/protocol/connection.h"

namespace ascendsim {

struct DriverTree {
  std::string root;  // absolute
  NodeSet nodes;
  Descriptor lock;      // held for life
  Descriptor listener;  // the socket, listening

  // Where the driver library remembers virtual devices over a boot.
  std::string recover_file() const { return root + "/etc/vnpu.cfg"; }
  std::string socket_path() const { return root + "/driver/run/ascendsim.sock"; }
};

// Lays the tree out, or puts a leftover one in order. `library_folder` holds the built libraries; one that is
// missing there is left out with a warning, and so are the nodes where making them is not permitted.
Result<DriverTree> install_driver_tree(const std::string& root, const std::string& library_folder,
                                       const Machine& machine);

// A character node for all users; one that was there is replaced.
bool make_device_node(const std::string& path, std::uint32_t major, std::uint32_t minor);

// Takes the socket away, so that a client is told at once that nobody is there.
void remove_socket(const DriverTree& tree);

// The first of the majors that Linux leaves to local use which `proc_devices` (the text of /proc/devices)
// does not list. `preferred` is taken if it is free. 0: none.
std::uint32_t free_major(const std::string& proc_devices, std::uint32_t preferred);

}  // namespace ascendsim

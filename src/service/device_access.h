// Device nodes that jobs could not open where they have no /dev of their own, and open the machine's.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "service/options.h"

namespace tangram::service {

struct ClosedDevice {
  std::string path;
  uid_t owner = 0;
  std::string group;  // its name; empty: it has none
  mode_t mode = 0;    // permission bits
};

struct JobUser {
  uid_t uid = 0;
  std::vector<gid_t> groups;
};

// Whether that user may read and write what has such an owner and mode. Pure.
bool may_open(const struct stat& node, const JobUser& user);

// Those of the NPUs and of the driver's managers, in `directory`, that the user may not open. What is not
// there is left out.
std::vector<ClosedDevice> closed_devices(const std::string& directory,
                                         const std::vector<std::uint32_t>& physical_ids, const JobUser& user);

// The command after which jobs can open what is closed to that user. `closed`: not empty.
std::string opening_command(const std::vector<ClosedDevice>& closed, uid_t user, const Options& options);

// Of this process.
std::vector<gid_t> own_groups();

}  // namespace tangram::service

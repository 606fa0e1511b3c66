// What the executor hands to a supervisor: the launch itself and where everything is. It travels through a
// sealed memory file that both ends have open, never over a command line, an environment or a disk: it holds
// secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/executor.h"
#include "runner/attempt_dir.h"
#include "runner/cgroup.h"

namespace tangram::runner {

// A file or directory that the job sees at another place: the driver's tree.
struct BindMount {
  std::string source;
  std::string target;
  bool read_only = true;

  friend bool operator==(const BindMount&, const BindMount&) = default;
};

// What holds tenants apart. Without root most of it is missing.
struct Walls {
  bool user = false;           // jobs run as the tenant's uid
  bool namespaces = false;     // own mounts, processes and IPC
  bool device_filter = false;  // in the control group

  friend bool operator==(const Walls&, const Walls&) = default;
};

struct SuperviseSpec {
  LaunchSpec launch;
  std::string dir;  // of the attempt; exists
  std::vector<CgroupDir> cgroup;
  Walls walls;
  std::string device_dir;  // where davinciN and the managers are
  std::vector<BindMount> mounts;
  std::vector<std::string> hidden_paths;  // empty directories in the job's view
};

// The descriptors a supervisor is born with.
inline constexpr int kSpecFd = 3;
inline constexpr int kControlFd = 4;
inline constexpr int kLockFd = 5;  // the attempt's lock, already held: there is no instant without a holder

std::string encode(const SuperviseSpec& spec);

// kDataLoss for anything that encode() of this version did not write.
Result<SuperviseSpec> decode(std::string_view bytes);

}  // namespace tangram::runner

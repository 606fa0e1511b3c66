#include "ascendsim/daemon/access.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>

#include "ascendsim/protocol/connection.h"
#include "ascendsim/protocol/messages.h"

namespace ascendsim {
namespace {

std::string proc_path(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// Symbolic links in the peer's root are resolved inside that root: the peer may have made them.
bool has_node(int root, const std::string& path, std::uint32_t major, std::uint32_t minor) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const Descriptor node(static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  struct stat status{};
  return node.valid() && fstat(node.get(), &status) == 0 && S_ISCHR(status.st_mode) &&
         status.st_rdev == makedev(major, minor);
}

// Where device access is decided: the v1 `devices` hierarchy, or, on a machine that has none, v2 with its
// programs.
struct Hierarchy {
  std::string mount_point;
  bool v2 = false;
};

std::optional<Hierarchy> device_hierarchy() {
  std::optional<Hierarchy> unified;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, mount_point, word, type, source, options;
    fields >> id >> parent >> device >> root >> mount_point;
    while (fields >> word && word != "-") {
    }
    fields >> type >> source >> options;
    if (type == "cgroup" && root == "/" && ("," + options + ",").find(",devices,") != std::string::npos) {
      return Hierarchy{mount_point, false};
    }
    if (type == "cgroup2" && root == "/") unified = Hierarchy{mount_point, true};
  }
  return unified;
}

std::optional<std::string> device_cgroup(pid_t peer, bool v2) {
  std::ifstream lines(proc_path(peer, "cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find(v2 ? ",," : ",devices,") != std::string::npos) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<std::string> read_text(const std::string& path) {
  const std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// For each device of the list: may it be opened?
using Allowed = std::vector<char>;

// Runs in the probe: joins the cgroup and opens each node. "No such device or address" is what an allowed
// node says, because no driver stands behind its major.
[[noreturn]] void probe(const std::string& cgroup, const std::vector<std::string>& paths, int result_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int procs = open((cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (procs < 0 || write(procs, "0", 1) != 1) _exit(1);
  for (const std::string& path : paths) {
    const int node = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const char allowed = node >= 0 || errno == ENXIO ? 1 : 0;
    if (node >= 0) close(node);
    if (write(result_fd, &allowed, 1) != 1) _exit(1);
  }
  _exit(0);
}

// Nothing when the answers do not come: the cgroup may be frozen.
std::optional<Allowed> read_answers(int fd, std::size_t count) {
  Allowed allowed(count, 0);
  std::size_t have = 0;
  while (have < count) {
    pollfd wait{fd, POLLIN, 0};
    if (poll(&wait, 1, 200) != 1) return std::nullopt;
    const ssize_t got = read(fd, allowed.data() + have, count - have);
    if (got <= 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
  }
  return allowed;
}

// A list that begins with "everything" may still hide exceptions (v1), so the kernel itself is asked: a child
// of ours tries from within the cgroup. Nothing when it could not be tried.
std::optional<Allowed> probe_cgroup(const std::string& cgroup, const NodeSet& nodes,
                                    const std::vector<DeviceNode>& devices) {
  std::vector<std::string> paths;
  paths.reserve(devices.size());
  for (const DeviceNode& device : devices) paths.push_back(nodes.folder + "/" + device.name());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) probe(cgroup, paths, writer.get());
  writer.reset();
  auto answers = read_answers(reader.get(), paths.size());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return answers;
}

Allowed cgroup_allows(pid_t peer, const NodeSet& nodes, const std::vector<DeviceNode>& devices) {
  Allowed all(devices.size(), 1);
  Allowed none(devices.size(), 0);
  static const std::optional<Hierarchy> hierarchy = device_hierarchy();
  if (!hierarchy) return all;
  const auto theirs = device_cgroup(peer, hierarchy->v2);
  if (!theirs) return none;
  if (*theirs == "/" || theirs == device_cgroup(getpid(), hierarchy->v2)) return all;
  const std::string folder = hierarchy->mount_point + *theirs;
  if (hierarchy->v2) return probe_cgroup(folder, nodes, devices).value_or(none);
  const auto list = read_text(folder + "/devices.list");
  if (!list) return none;
  Allowed allowed = none;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    allowed[i] = device_list_allows(*list, nodes.major, devices[i].minor) ? 1 : 0;
  }
  if (list->rfind("a ", 0) != 0) return allowed;
  return probe_cgroup(folder, nodes, devices).value_or(allowed);
}

// Is there a node of this device in the peer's root, under a name that the driver takes for it?
bool sees(int root, const NodeSet& nodes, bool in_container, const DeviceNode& device) {
  const std::string folder = in_container ? "/dev/" : nodes.folder + "/";
  if (has_node(root, folder + device.name(), nodes.major, device.minor)) return true;
  if (!device.virtual_device || !in_container) return false;
  if (has_node(root, folder + "davinci" + std::to_string(device.minor), nodes.major, device.minor))
    return true;
  for (std::uint32_t number = 0; number < kNpusMax; ++number) {
    if (has_node(root, folder + "davinci" + std::to_string(number), nodes.major, device.minor)) return true;
  }
  return false;
}

// Root with all it can do: in our user namespace and with the capability that containers are denied.
bool is_privileged(pid_t peer) {
  constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21U;
  struct stat ours{};
  struct stat theirs{};
  const bool same_users = stat("/proc/self/ns/user", &ours) == 0 &&
                          stat(proc_path(peer, "ns/user").c_str(), &theirs) == 0 &&
                          ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
  if (!same_users) return false;
  std::ifstream status(proc_path(peer, "status"));
  for (std::string word; status >> word;) {
    std::uint64_t capabilities = 0;
    if (word == "CapEff:") return (status >> std::hex >> capabilities) && (capabilities & kSysAdmin) != 0;
  }
  return false;
}

}  // namespace

bool device_list_allows(const std::string& list, std::uint32_t major, std::uint32_t minor) {
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string type, numbers, access;
    if (!(fields >> type >> numbers >> access)) continue;
    if (type != "a" && type != "c") continue;
    const std::size_t colon = numbers.find(':');
    if (colon == std::string::npos) continue;
    const std::string line_major = numbers.substr(0, colon);
    const std::string line_minor = numbers.substr(colon + 1);
    const bool number_matches = (line_major == "*" || line_major == std::to_string(major)) &&
                                (line_minor == "*" || line_minor == std::to_string(minor));
    if (number_matches && access.find('r') != std::string::npos && access.find('w') != std::string::npos)
      return true;
  }
  return false;
}

bool same_mount_namespace(pid_t one, pid_t other) {
  const MountNamespace of_one = mount_namespace(one);
  return of_one.inode != 0 && of_one == mount_namespace(other);
}

MountNamespace mount_namespace(pid_t pid) {
  struct stat status{};
  if (stat(proc_path(pid, "ns/mnt").c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

PeerAccess peer_access(pid_t peer, const NodeSet& nodes, const std::vector<DeviceNode>& devices) {
  PeerAccess access;
  access.in_container = !same_mount_namespace(peer, getpid());
  access.privileged = is_privileged(peer);
  if (nodes.major == 0) {
    for (const DeviceNode& device : devices) access.minors.push_back(device.minor);
    return access;
  }
  const std::string root_path = access.in_container ? proc_path(peer, "root") : "/";
  const Descriptor root(open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return access;
  std::vector<DeviceNode> visible;
  for (const DeviceNode& device : devices) {
    if (sees(root.get(), nodes, access.in_container, device)) visible.push_back(device);
  }
  if (visible.empty()) return access;
  const Allowed allowed = cgroup_allows(peer, nodes, visible);
  for (std::size_t i = 0; i < visible.size(); ++i) {
    if (allowed[i] != 0) access.minors.push_back(visible[i].minor);
  }
  return access;
}

}  // namespace ascendsim

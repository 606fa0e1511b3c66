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
#include <bitset>
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

using Allowed = std::bitset<kNpusMax>;

// Runs in the probe: joins the cgroup and opens each node. "No such device or address" is what an allowed
// node says, because no driver stands behind its major.
[[noreturn]] void probe(const std::string& cgroup, const NodeSet& nodes,
                        const std::vector<std::uint32_t>& phy_ids, int result_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int procs = open((cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (procs < 0 || write(procs, "0", 1) != 1) _exit(1);
  std::uint64_t mask = 0;
  for (const std::uint32_t phy_id : phy_ids) {
    const std::string path = nodes.folder + "/davinci" + std::to_string(phy_id);
    const int node = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (node >= 0 || errno == ENXIO) mask |= std::uint64_t{1} << phy_id;
    if (node >= 0) close(node);
  }
  _exit(write(result_fd, &mask, sizeof mask) == sizeof mask ? 0 : 1);
}

// A list that begins with "everything" may still hide exceptions (v1), so the kernel itself is asked: a child
// of ours tries from within the cgroup. Nothing when it could not be tried.
std::optional<Allowed> probe_cgroup(const std::string& cgroup, const NodeSet& nodes,
                                    const std::vector<std::uint32_t>& phy_ids) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) probe(cgroup, nodes, phy_ids, writer.get());
  writer.reset();
  // The cgroup may be frozen: the probe gets a deadline.
  pollfd wait{reader.get(), POLLIN, 0};
  std::uint64_t mask = 0;
  const bool answered = poll(&wait, 1, 200) == 1 && read(reader.get(), &mask, sizeof mask) == sizeof mask;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (!answered) return std::nullopt;
  return Allowed(mask);
}

Allowed cgroup_allows(pid_t peer, const NodeSet& nodes, const std::vector<std::uint32_t>& phy_ids) {
  Allowed all;
  for (const std::uint32_t phy_id : phy_ids) all.set(phy_id);
  static const std::optional<Hierarchy> hierarchy = device_hierarchy();
  if (!hierarchy) return all;
  const auto theirs = device_cgroup(peer, hierarchy->v2);
  if (!theirs) return {};
  if (*theirs == "/" || theirs == device_cgroup(getpid(), hierarchy->v2)) return all;
  const std::string folder = hierarchy->mount_point + *theirs;
  if (hierarchy->v2) return probe_cgroup(folder, nodes, phy_ids).value_or(Allowed{});
  const auto list = read_text(folder + "/devices.list");
  if (!list) return {};
  Allowed allowed;
  for (const std::uint32_t phy_id : phy_ids)
    allowed.set(phy_id, device_list_allows(*list, nodes.major, phy_id));
  if (list->rfind("a ", 0) != 0) return allowed;
  return probe_cgroup(folder, nodes, phy_ids).value_or(allowed);
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
  struct stat a{};
  struct stat b{};
  return stat(proc_path(one, "ns/mnt").c_str(), &a) == 0 &&
         stat(proc_path(other, "ns/mnt").c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

PeerAccess peer_access(pid_t peer, const NodeSet& nodes, const std::vector<std::uint32_t>& phy_ids) {
  PeerAccess access;
  access.in_container = !same_mount_namespace(peer, getpid());
  if (nodes.major == 0) {
    access.phy_ids = phy_ids;
    return access;
  }
  const std::string root_path = access.in_container ? proc_path(peer, "root") : "/";
  const std::string folder = access.in_container ? "/dev" : nodes.folder;
  const Descriptor root(open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return access;
  std::vector<std::uint32_t> visible;
  for (const std::uint32_t phy_id : phy_ids) {
    if (has_node(root.get(), folder + "/davinci" + std::to_string(phy_id), nodes.major, phy_id)) {
      visible.push_back(phy_id);
    }
  }
  const Allowed allowed = cgroup_allows(peer, nodes, phy_ids);
  for (const std::uint32_t phy_id : visible) {
    if (allowed.test(phy_id)) access.phy_ids.push_back(phy_id);
  }
  return access;
}

}  // namespace ascendsim

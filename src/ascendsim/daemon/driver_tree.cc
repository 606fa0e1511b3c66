#include "ascendsim/daemon/driver_tree.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace ascendsim {
namespace {

namespace fs = std::filesystem;

// Minors of davinciN are its physical id and those of vNPUs lie from 100 up to 100 + 16 * 64; the nodes that
// are not an NPU stay clear of both.
constexpr std::array<std::pair<const char*, std::uint32_t>, 3> kCommonNodes{
    {{"davinci_manager", 4000}, {"devmm_svm", 4001}, {"hisi_hdc", 4002}}};
// Installed "for all users": what keeps a tenant out is its mount namespace and its device cgroup.
constexpr mode_t kNodeMode = 0666;

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail("cannot create " + path + ": " + error.message());
  return {};
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) return fail(system_problem("cannot write " + path, errno));
  return {};
}

Result<Descriptor> take_lock(const std::string& path) {
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return fail(system_problem("cannot open " + path, errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail("another ascendsimd already runs on this root: " + path + " is locked");
  }
  return lock;
}

// A copy, not a link: a container gets the driver's folder alone. By rename, because old ones may be mapped.
void install_file(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::exists(from, error)) {
    log_warning(from + " does not exist: programs will not find " + fs::path(to).filename().string());
    return;
  }
  const std::string temporary = to + ".new";
  fs::copy_file(from, temporary, fs::copy_options::overwrite_existing, error);
  if (!error && chmod(temporary.c_str(), 0755) != 0) error = std::error_code(errno, std::generic_category());
  if (!error) fs::rename(temporary, to, error);
  if (error) log_warning("cannot install " + to + ": " + error.message());
}

// Virtual devices end with the boot that made them.
void remove_virtual_nodes(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("vdavinci")) unlink(entry.path().c_str());
  }
}

std::uint32_t remembered_major(const std::string& path) {
  std::ifstream file(path);
  std::uint32_t major = 0;
  file >> major;
  return file ? major : 0;
}

NodeSet install_nodes(const std::string& root, const Machine& machine) {
  NodeSet nodes;
  nodes.folder = root + "/dev";
  remove_virtual_nodes(nodes.folder);
  const std::string record = root + "/driver/run/device-major";
  const std::ifstream devices("/proc/devices");
  std::ostringstream text;
  text << devices.rdbuf();
  const std::uint32_t major = free_major(text.str(), remembered_major(record));
  bool made = major != 0;
  int error_number = ENOSPC;
  for (const NpuDescription& npu : machine.npus) {
    made =
        made && make_device_node(nodes.folder + "/davinci" + std::to_string(npu.phy_id), major, npu.phy_id);
    if (!made) break;
  }
  for (const auto& [name, minor] : kCommonNodes)
    made = made && make_device_node(nodes.folder + "/" + name, major, minor);
  if (!made) error_number = major == 0 ? ENOSPC : errno;
  const std::string probe = nodes.folder + "/davinci_manager";
  if (made) {
    const Descriptor node(open(probe.c_str(), O_RDWR | O_CLOEXEC));
    made = !node.valid() && errno == ENXIO;
    error_number = errno;
  }
  if (!made) {
    log_warning(system_problem("no device nodes below " + nodes.folder, error_number) +
                ": every process may use every NPU; run as root on a file system that is not mounted nodev");
    return nodes;
  }
  if (const auto written = write_file(record, std::to_string(major) + "\n"); !written)
    log_warning(written.error());
  nodes.major = major;
  return nodes;
}

Result<Descriptor> listen_at(const std::string& path) {
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return fail(system_problem("cannot make a socket", errno));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail("the path of the socket is too long: " + path + " has " + std::to_string(path.size()) +
                " bytes, at most " + std::to_string(sizeof address.sun_path - 1) +
                " work; choose a shorter --root");
  }
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  unlink(path.c_str());  // nobody listens there: we hold the lock
  const bool listening =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      chmod(path.c_str(), 0666) == 0 && listen(listener.get(), 128) == 0;
  if (!listening) return fail(system_problem("cannot listen on " + path, errno));
  return listener;
}

std::string version_text(const std::string& version) {
  return "Version=" + version + "\nascendhal_version=7.35.23\nInnerversion=V100R001C21\n" +
         "compatible_version=[V100R001C15,V100R001C21]\npackage_version=" + version + "\n";
}

}  // namespace

std::uint32_t free_major(const std::string& proc_devices, std::uint32_t preferred) {
  std::set<std::uint32_t> taken;
  std::istringstream lines(proc_devices);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Block", 0) == 0) break;
    std::istringstream fields(line);
    std::uint32_t major = 0;
    if (fields >> major) taken.insert(major);
  }
  const auto local = [](std::uint32_t major) {
    return (major >= 240 && major <= 254) || (major >= 120 && major <= 127) || (major >= 60 && major <= 63);
  };
  if (local(preferred) && taken.count(preferred) == 0) return preferred;
  // Not from 254 downwards: the kernel hands those out to drivers that load later.
  for (const std::uint32_t first : {240U, 120U, 60U}) {
    for (std::uint32_t major = first; local(major); ++major) {
      if (taken.count(major) == 0) return major;
    }
  }
  return 0;
}

bool make_device_node(const std::string& path, std::uint32_t major, std::uint32_t minor) {
  unlink(path.c_str());
  return mknod(path.c_str(), S_IFCHR | kNodeMode, makedev(major, minor)) == 0 &&
         chmod(path.c_str(), kNodeMode) == 0;
}

Result<DriverTree> install_driver_tree(const std::string& root, const std::string& library_folder,
                                       const Machine& machine) {
  if (const auto made = make_folder(root); !made) return fail(made.error());
  std::error_code error;
  DriverTree tree;
  tree.root = fs::canonical(root, error).string();
  if (error) return fail("cannot resolve " + root + ": " + error.message());
  for (const char* folder :
       {"/driver/lib64", "/driver/tools", "/driver/run", "/dev", "/etc", "/run/vnpu_cfg_lock"}) {
    if (const auto made = make_folder(tree.root + folder); !made) return fail(made.error());
  }
  auto lock = take_lock(tree.root + "/driver/run/ascendsimd.lock");
  if (!lock) return fail(lock.error());
  tree.lock = std::move(*lock);
  for (const char* library : {"libascendcl.so", "libdcmi.so"}) {
    install_file(library_folder + "/" + library, tree.root + "/driver/lib64/" + library);
  }
  // It finds the driver's libdcmi.so as ../lib64, and that one its socket.
  install_file(library_folder + "/../bin/npu-smi", tree.root + "/driver/tools/npu-smi");
  const auto written = write_file(tree.root + "/driver/version.info", version_text(machine.driver_version));
  if (!written) return fail(written.error());
  tree.nodes = install_nodes(tree.root, machine);
  auto listener = listen_at(tree.socket_path());
  if (!listener) return fail(listener.error());
  tree.listener = std::move(*listener);
  return tree;
}

void remove_socket(const DriverTree& tree) {
  unlink(tree.socket_path().c_str());
}

}  // namespace ascendsim

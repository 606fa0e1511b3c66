#include "runner/job_view.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "runner/files.h"
#include "runner/private_mounts.h"

namespace tangram::runner {
namespace {

constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV;
constexpr std::int64_t kTmpfsBytesMin = 1 << 20;
constexpr const char* kEmptyOptions = "mode=755,size=64k,nr_inodes=256";

struct StandardNode {
  const char* name;
  DeviceNumber number;
};

constexpr std::array kStandardNodes = {StandardNode{"null", {1, 3}},    StandardNode{"zero", {1, 5}},
                                       StandardNode{"full", {1, 7}},    StandardNode{"random", {1, 8}},
                                       StandardNode{"urandom", {1, 9}}, StandardNode{"tty", {5, 0}}};

constexpr std::array<std::array<const char*, 2>, 5> kDevLinks = {{{"pts/ptmx", "ptmx"},
                                                                  {"/proc/self/fd", "fd"},
                                                                  {"/proc/self/fd/0", "stdin"},
                                                                  {"/proc/self/fd/1", "stdout"},
                                                                  {"/proc/self/fd/2", "stderr"}}};

// A place to mount again, looked up before anything is hidden.
struct Source {
  UniqueFd fd;
  bool is_directory = true;
};

std::string fd_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

Result<void> do_mount(const char* source, const std::string& target, const char* type, unsigned long flags,
                      const char* options) {
  if (mount(source, target.c_str(), type, flags, options) == 0) return {};
  return fail(system_error(
      "cannot mount " + std::string(type == nullptr ? "a directory" : type) + " on " + target, errno));
}

Result<Source> open_source(const std::string& path) {
  Source source{UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC)), true};
  struct stat info{};
  if (!source.fd.valid() || fstat(source.fd.get(), &info) != 0) {
    return fail(system_error("cannot open " + path, errno));
  }
  source.is_directory = S_ISDIR(info.st_mode);
  return source;
}

Result<void> make_target(const std::string& path, bool is_directory) {
  if (is_directory) return make_directories(path, 0755);
  TG_TRY_VOID(make_directories(path.substr(0, path.rfind('/')), 0755));
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.valid()) return fail(system_error("cannot create " + path, errno));
  return {};
}

Result<void> bind(int source, const std::string& target, unsigned long flags) {
  TG_TRY_VOID(do_mount(fd_path(source).c_str(), target, nullptr, MS_BIND | MS_REC, nullptr));
  return do_mount(nullptr, target, nullptr, MS_BIND | MS_REMOUNT | flags, nullptr);
}

Result<void> make_node(const std::string& path, DeviceNumber number, mode_t mode, uid_t uid, gid_t gid) {
  if (mknod(path.c_str(), S_IFCHR | mode, makedev(number.major, number.minor)) != 0 ||
      chmod(path.c_str(), mode) != 0 || chown(path.c_str(), uid, gid) != 0) {
    return fail(system_error("cannot create the device node " + path, errno));
  }
  return {};
}

// Files in memory count as the job's memory. Half of it, so that a full directory is an error of the writer
// and not the end of the job.
std::string tmpfs_options(const SuperviseSpec& spec) {
  std::string options = "mode=1777,nr_inodes=1m";
  const Bytes memory = spec.launch.limits.memory;
  if (!memory.is_unlimited())
    options += ",size=" + std::to_string(std::max(memory.count / 2, kTmpfsBytesMin));
  return options;
}

Result<void> build_dev(const SuperviseSpec& spec, const std::vector<DeviceNode>& devices) {
  TG_TRY_VOID(do_mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k,nr_inodes=256"));
  for (const StandardNode& node : kStandardNodes) {
    TG_TRY_VOID(make_node(std::string("/dev/") + node.name, node.number, 0666, 0, 0));
  }
  // Nobody but the job sees this directory, so its nodes can belong to the tenant.
  for (const DeviceNode& node : devices) {
    TG_TRY_VOID(make_node("/dev/" + node.name, node.number, 0600, spec.launch.uid, spec.launch.gid));
  }
  for (const auto& link : kDevLinks) {
    if (symlink(link[0], (std::string("/dev/") + link[1]).c_str()) != 0) {
      return fail(system_error(std::string("cannot create /dev/") + link[1], errno));
    }
  }
  TG_TRY_VOID(make_directory("/dev/pts", 0755));
  TG_TRY_VOID(make_directory("/dev/shm", 0755));
  TG_TRY_VOID(
      do_mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"));
  TG_TRY_VOID(do_mount("tmpfs", "/dev/shm", "tmpfs", kPlain, tmpfs_options(spec).c_str()));
  return do_mount(nullptr, "/dev", nullptr, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC, nullptr);
}

bool visible(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// A bind to "itself" of what was covered. The new components belong to root, the directory itself to the
// tenant.
Result<void> show_again(int source, const std::string& path, unsigned long flags) {
  TG_TRY_VOID(make_directories(path, 0755));
  return bind(source, path, flags);
}

// Whether the directory really is what its name says: one that leads out of /tmp again, by ".." or a link,
// would bring back what is hidden, and /tmp itself is private.
bool is_below_tmp(const UniqueFd& directory, const std::string& name) {
  std::array<char, PATH_MAX> real{};
  const ssize_t length = readlink(fd_path(directory.get()).c_str(), real.data(), real.size());
  if (length <= 0 || name != std::string_view(real.data(), static_cast<std::size_t>(length))) return false;
  return name.starts_with("/tmp/") || name.starts_with("/var/tmp/");
}

// Places where everybody may write, or where others' jobs can be looked at.
Result<void> hide_shared_places(const SuperviseSpec& spec) {
  const std::string options = tmpfs_options(spec);
  TG_TRY_VOID(do_mount("tmpfs", "/tmp", "tmpfs", kPlain, options.c_str()));
  if (visible("/var/tmp")) TG_TRY_VOID(do_mount("/tmp", "/var/tmp", nullptr, MS_BIND, nullptr));
  if (visible("/run/lock")) {
    TG_TRY_VOID(do_mount("tmpfs", "/run/lock", "tmpfs", kPlain, "mode=1777,size=1m,nr_inodes=1k"));
  }
  for (const std::string& hidden : spec.hidden_paths) {
    if (visible(hidden)) TG_TRY_VOID(do_mount("tmpfs", hidden, "tmpfs", kPlain, kEmptyOptions));
  }
  return {};
}

Result<void> run_probe() {
  if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID) != 0) {
    return fail(system_error("cannot make namespaces", errno));
  }
  TG_TRY_VOID(make_mounts_private());
  const SuperviseSpec spec;
  return build_dev(spec, {});
}

}  // namespace

Result<UniqueFd> open_workdir(const SuperviseSpec& spec) {
  const bool own = spec.launch.workdir.empty();
  const std::string path = own ? AttemptDir{spec.dir}.work() : spec.launch.workdir;
  // The tenant's rights decide, also about the directories above. The state's own directories are root's.
  const bool switch_user = spec.walls.user && !own;
  if (switch_user && (setgroups(spec.launch.groups.size(), spec.launch.groups.data()) != 0 ||
                      setegid(spec.launch.gid) != 0 || seteuid(spec.launch.uid) != 0)) {
    return fail(system_error("cannot take the tenant's user id", errno));
  }
  UniqueFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  int error = fd.valid() ? 0 : errno;
  if (error == 0 && !own && faccessat(fd.get(), ".", X_OK, AT_EACCESS) != 0) error = errno;
  if (switch_user && (seteuid(0) != 0 || setegid(0) != 0)) _exit(1);
  if (error != 0) return fail(system_error("cannot use the work directory " + path, error));
  return fd;
}

Result<void> build_job_view(const SuperviseSpec& spec, const std::vector<DeviceNode>& devices,
                            const UniqueFd& workdir) {
  const AttemptDir dir{spec.dir};
  TG_TRY_VOID(do_mount("proc", "/proc", "proc", kPlain | MS_NOEXEC, nullptr));
  TG_TRY(const Source work, open_source(dir.work()));
  std::vector<Source> sources;
  for (const BindMount& bind_mount : spec.mounts) {
    TG_TRY(Source source, open_source(bind_mount.source));
    sources.push_back(std::move(source));
  }
  std::vector<Source> groups;
  for (const CgroupDir& group : spec.cgroup) {
    TG_TRY(Source source, open_source(group.path));
    groups.push_back(std::move(source));
  }
  TG_TRY_VOID(build_dev(spec, devices));
  TG_TRY_VOID(hide_shared_places(spec));
  TG_TRY_VOID(show_again(work.fd.get(), dir.work(), kPlain));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    TG_TRY_VOID(show_again(groups[i].fd.get(), spec.cgroup[i].path, kPlain | MS_RDONLY));
  }
  if (const std::string& wanted = spec.launch.workdir; is_below_tmp(workdir, wanted)) {
    TG_TRY_VOID(show_again(workdir.get(), wanted, kPlain));
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const BindMount& bind_mount = spec.mounts[i];
    TG_TRY_VOID(make_target(bind_mount.target, sources[i].is_directory));
    TG_TRY_VOID(
        bind(sources[i].fd.get(), bind_mount.target, bind_mount.read_only ? kPlain | MS_RDONLY : kPlain));
  }
  return {};
}

Result<void> probe_namespaces() {
  const pid_t child = fork();
  if (child < 0) return fail(system_error("cannot fork", errno));
  if (child == 0) {
    const Result<void> made = run_probe();
    std::int64_t code = 0;
    if (!made) {
      code = EPERM;
      for (const auto& [name, value] : made.error().details) {
        if (name == "errno") code = std::get<std::int64_t>(value);
      }
    }
    _exit(static_cast<int>(code));
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return fail(system_error("cannot try namespaces", ECHILD));
  }
  if (WEXITSTATUS(status) != 0) return fail(system_error("cannot make namespaces", WEXITSTATUS(status)));
  return {};
}

}  // namespace tangram::runner

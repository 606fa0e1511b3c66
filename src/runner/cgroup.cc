#include "runner/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "runner/files.h"

namespace tangram::runner {
namespace {

constexpr std::int64_t kCpuPeriodUs = 100'000;
constexpr std::int64_t kCpuQuotaUsMin = 1000;  // the kernel refuses less
constexpr std::size_t kMembersFileMax = 64 << 20;
constexpr std::string_view kOomKillField = "oom_kill ";
constexpr int kLeftoverTries = 200;
constexpr useconds_t kLeftoverPauseUs = 10'000;

std::vector<pid_t> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(at, end, pid);
    if (parsed.ec == std::errc() && pid > 0) pids.push_back(pid);
    at = std::find(parsed.ptr, end, '\n');
    if (at < end) ++at;
  }
  return pids;
}

std::vector<pid_t> members(const CgroupDir& dir) {
  const Result<std::string> text = read_file(dir.path + "/cgroup.procs", kMembersFileMax);
  return text ? parse_pids(*text) : std::vector<pid_t>();
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// "oom_kill 3" of memory.oom_control (v1) or memory.events (v2).
std::int64_t oom_kill_field(std::string_view text) {
  std::size_t at = text.find(kOomKillField);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n')
    at = text.find(kOomKillField, at + 1);
  std::int64_t count = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + kOomKillField.size(), text.data() + text.size(), count);
  return count;
}

ControllerSet v2_controllers(const std::string& dir) {
  const Result<std::string> text = read_file(dir + "/cgroup.controllers");
  ControllerSet set = 0;
  if (!text) return set;
  const std::string padded = " " + std::string(text->substr(0, text->find('\n'))) + " ";
  for (const Controller controller : {Controller::kCpu, Controller::kMemory, Controller::kPids}) {
    const bool listed = padded.find(" " + std::string(to_string(controller)) + " ") != std::string::npos;
    if (listed) set = static_cast<ControllerSet>(set | static_cast<ControllerSet>(controller));
  }
  return set;
}

// v2 lets a group have either processes or controllers for its children, the root excepted.
Result<void> move_members(const std::string& from, const std::string& to) {
  TG_TRY_VOID(make_directory(to, 0755));
  for (const pid_t pid : members(CgroupDir{from, 0, true})) {
    const Result<void> moved = write_control(to + "/cgroup.procs", std::to_string(pid));
    if (!moved && exists("/proc/" + std::to_string(pid))) return moved;
  }
  return {};
}

Result<void> enable_controllers(const std::string& dir, ControllerSet wanted, const std::string& refuge) {
  std::string text;
  for (const Controller controller : {Controller::kCpu, Controller::kMemory, Controller::kPids}) {
    if (has(wanted, controller)) text += (text.empty() ? "+" : " +") + std::string(to_string(controller));
  }
  if (text.empty()) return {};
  const std::string file = dir + "/cgroup.subtree_control";
  if (write_control(file, text)) return {};
  TG_TRY_VOID(move_members(dir, refuge));
  return write_control(file, text);
}

// One that another daemon, of another user, has made is of no use: leaves cannot be made in it.
Result<void> make_own_directory(const std::string& path) {
  TG_TRY_VOID(make_directories(path, 0755));
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return {};
  return fail(system_error("cannot write to the control group " + path, errno));
}

std::string base_of(const Hierarchy& hierarchy, const std::string& name) {
  if (name.starts_with('/')) return hierarchy.mount_point + name.substr(0, name.rfind('/'));
  std::string own = hierarchy.own_dir;
  const std::string refuge = "/" + name + "-daemon";
  if (own.ends_with(refuge)) own.resize(own.size() - refuge.size());
  return own;
}

Result<void> write_limits(const CgroupDir& dir, const HostLimits& limits) {
  if (has(dir.controllers, Controller::kCpu) && limits.cpu_milli != kUnlimited) {
    const std::int64_t quota = std::max(kCpuQuotaUsMin, limits.cpu_milli * (kCpuPeriodUs / 1000));
    if (dir.unified) {
      TG_TRY_VOID(
          write_control(dir.path + "/cpu.max", std::to_string(quota) + " " + std::to_string(kCpuPeriodUs)));
    } else {
      TG_TRY_VOID(write_control(dir.path + "/cpu.cfs_period_us", std::to_string(kCpuPeriodUs)));
      TG_TRY_VOID(write_control(dir.path + "/cpu.cfs_quota_us", std::to_string(quota)));
    }
  }
  if (has(dir.controllers, Controller::kMemory) && !limits.memory.is_unlimited()) {
    const std::string bytes = std::to_string(limits.memory.count);
    TG_TRY_VOID(write_control(dir.path + (dir.unified ? "/memory.max" : "/memory.limit_in_bytes"), bytes));
    // Without swap accounting these files do not exist; then there is nothing to forbid here.
    const std::string swap = dir.path + (dir.unified ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes");
    if (exists(swap)) TG_TRY_VOID(write_control(swap, dir.unified ? "0" : bytes));
  }
  if (has(dir.controllers, Controller::kPids) && limits.processes != kUnlimited) {
    TG_TRY_VOID(write_control(dir.path + "/pids.max", std::to_string(limits.processes)));
  }
  return {};
}

Result<void> write_v1_devices(const std::string& path, const std::vector<DeviceNumber>& devices) {
  TG_TRY_VOID(write_control(path + "/devices.deny", "a"));
  for (const DeviceNumber& device : devices)
    TG_TRY_VOID(write_control(path + "/devices.allow", v1_rule(device)));
  return {};
}

}  // namespace

CgroupParent CgroupParent::open(const std::vector<Hierarchy>& layout, const std::string& name) {
  CgroupParent parent;
  ControllerSet in_v1 = 0;
  for (const Hierarchy& hierarchy : layout) in_v1 = static_cast<ControllerSet>(in_v1 | hierarchy.controllers);
  ControllerSet covered = 0;
  bool can_kill = false;
  std::string trouble;
  for (const Hierarchy& hierarchy : layout) {
    const std::string base = base_of(hierarchy, name);
    std::string path = base;
    path.append("/").append(name.substr(name.starts_with('/') ? name.rfind('/') + 1 : 0));
    const std::string refuge = path + "-daemon";
    CgroupDir dir{std::move(path), hierarchy.controllers, hierarchy.unified};
    Result<void> made = make_own_directory(dir.path);
    const bool usable = made.has_value();
    if (usable && hierarchy.unified) {
      dir.controllers = static_cast<ControllerSet>(v2_controllers(base) & ~in_v1);
      made = enable_controllers(base, dir.controllers, refuge);
      if (made) made = enable_controllers(dir.path, dir.controllers, refuge);
      if (!made) dir.controllers = 0;
    }
    if (!made) trouble = made.error().to_string();
    if (!usable) continue;
    covered = static_cast<ControllerSet>(covered | dir.controllers);
    can_kill = can_kill || hierarchy.unified || has(dir.controllers, Controller::kFreezer);
    parent.dirs_.push_back(std::move(dir));
  }
  for (const Controller controller : {Controller::kCpu, Controller::kMemory, Controller::kPids}) {
    if (has(covered, controller)) continue;
    parent.missing_.push_back("no " + std::string(to_string(controller)) + " control group" +
                              (trouble.empty() ? "" : " (" + trouble + ")") +
                              ": that limit of a job does not bind");
  }
  if (!can_kill)
    parent.missing_.emplace_back(
        "no control group that can be killed as one: a job is ended by its process tree");
  return parent;
}

bool CgroupParent::can_filter_devices() const {
  return std::any_of(dirs_.begin(), dirs_.end(), [](const CgroupDir& dir) {
    return dir.unified || has(dir.controllers, Controller::kDevices);
  });
}

// A write lock, which only those may take who may write there: a stranger cannot keep the daemon from
// starting.
Result<std::vector<UniqueFd>> CgroupParent::claim() const {
  std::vector<UniqueFd> claims;
  for (const CgroupDir& dir : dirs_) {
    UniqueFd file(::open((dir.path + "/cgroup.procs").c_str(), O_RDWR | O_CLOEXEC));
    if (!file.valid()) continue;
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(file.get(), F_OFD_SETLK, &lock) == 0) {
      claims.push_back(std::move(file));
      continue;
    }
    if (fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_WRLCK) continue;
    return fail(Code::kFailedPrecondition, "runner.cgroup.in_use",
                "another daemon keeps its jobs in the control group " + dir.path,
                "stop that one, or give this one another `cgroup` in its configuration");
  }
  return claims;
}

std::vector<std::string> CgroupParent::paths() const {
  std::vector<std::string> all;
  all.reserve(dirs_.size());
  for (const CgroupDir& dir : dirs_) all.push_back(dir.path);
  return all;
}

std::vector<CgroupDir> CgroupParent::leaf(const AttemptKey& key, const HostLimits& limits) const {
  const bool have_v2 =
      std::any_of(dirs_.begin(), dirs_.end(), [](const CgroupDir& dir) { return dir.unified; });
  ControllerSet needed = static_cast<ControllerSet>(Controller::kDevices);
  const auto need = [&needed](bool condition, Controller controller) {
    if (condition) needed = static_cast<ControllerSet>(needed | static_cast<ControllerSet>(controller));
  };
  need(limits.cpu_milli != kUnlimited, Controller::kCpu);
  need(!limits.memory.is_unlimited(), Controller::kMemory);
  need(limits.processes != kUnlimited, Controller::kPids);
  need(!have_v2, Controller::kFreezer);
  std::vector<CgroupDir> leaf;
  for (const CgroupDir& dir : dirs_) {
    if (!dir.unified && (dir.controllers & needed) == 0) continue;
    leaf.push_back(
        {dir.path + "/" + key.job + "." + std::to_string(key.attempt), dir.controllers, dir.unified});
  }
  return leaf;
}

Result<void> Cgroup::create(const HostLimits& limits, const std::vector<DeviceNumber>& devices,
                            bool filter_devices) {
  for (int attempt = 0; !remove() && attempt < kLeftoverTries; ++attempt) {
    kill_all();
    usleep(kLeftoverPauseUs);
  }
  const auto set_up = [&]() -> Result<void> {
    const bool v1_filter = std::any_of(dirs_.begin(), dirs_.end(), [](const CgroupDir& dir) {
      return has(dir.controllers, Controller::kDevices);
    });
    for (const CgroupDir& dir : dirs_) {
      TG_TRY_VOID(make_directory(dir.path, 0755));
      TG_TRY_VOID(write_limits(dir, limits));
      if (!filter_devices) continue;
      if (has(dir.controllers, Controller::kDevices)) TG_TRY_VOID(write_v1_devices(dir.path, devices));
      if (dir.unified && !v1_filter) TG_TRY_VOID(attach_device_filter(dir.path, devices));
    }
    return {};
  };
  Result<void> made = set_up();
  if (!made) remove();
  return made;
}

std::vector<std::string> Cgroup::join_files() const {
  std::vector<std::string> files;
  files.reserve(dirs_.size());
  for (const CgroupDir& dir : dirs_) files.push_back(dir.path + "/cgroup.procs");
  return files;
}

void Cgroup::kill_all() const {
  for (const CgroupDir& dir : dirs_) {
    if (dir.unified && write_control(dir.path + "/cgroup.kill", "1")) return;
  }
  // A member that forks faster than we read the list would escape for ever if it were not frozen. A signal
  // is kept pending by a frozen process and takes effect at the thaw.
  for (const CgroupDir& dir : dirs_) {
    if (has(dir.controllers, Controller::kFreezer))
      (void)write_control(dir.path + "/freezer.state", "FROZEN");
    if (dir.unified && exists(dir.path + "/cgroup.freeze"))
      (void)write_control(dir.path + "/cgroup.freeze", "1");
  }
  for (const CgroupDir& dir : dirs_) {
    for (const pid_t pid : members(dir)) kill(pid, SIGKILL);
  }
  for (const CgroupDir& dir : dirs_) {
    if (has(dir.controllers, Controller::kFreezer))
      (void)write_control(dir.path + "/freezer.state", "THAWED");
    if (dir.unified && exists(dir.path + "/cgroup.freeze"))
      (void)write_control(dir.path + "/cgroup.freeze", "0");
  }
}

bool Cgroup::empty() const {
  return std::all_of(dirs_.begin(), dirs_.end(), [](const CgroupDir& dir) {
    const Result<std::string> text = read_file(dir.path + "/cgroup.procs", kMembersFileMax);
    // Without a descriptor to look with, nothing is known of a group.
    if (!text) return text.error().code != Code::kResourceExhausted;
    return parse_pids(*text).empty();
  });
}

std::int64_t Cgroup::out_of_memory_kills() const {
  for (const CgroupDir& dir : dirs_) {
    if (!has(dir.controllers, Controller::kMemory)) continue;
    const Result<std::string> text =
        read_file(dir.path + (dir.unified ? "/memory.events" : "/memory.oom_control"));
    if (text) return oom_kill_field(*text);
  }
  return 0;
}

bool Cgroup::remove() const {
  bool gone = true;
  for (const CgroupDir& dir : dirs_) {
    if (rmdir(dir.path.c_str()) != 0 && errno == EBUSY) gone = false;
  }
  return gone;
}

}  // namespace tangram::runner

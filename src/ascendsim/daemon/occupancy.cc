#include "ascendsim/daemon/occupancy.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ascendsim {
namespace {

constexpr std::uint64_t kNotDocker = 0xFFFFFFFFFFFF;
constexpr std::size_t kCpusetBytesRead = 33;
constexpr std::size_t kIdDigits = 12;

// Field 22 of /proc/PID/stat, in clock ticks since boot; 0 for a process that is gone.
std::uint64_t start_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name, which is field 2, may hold blanks and brackets.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t start = 0;
  fields >> start;
  return start;
}

}  // namespace

std::uint64_t container_id_of_cpuset(const std::string& path) {
  const std::string read = path.substr(0, kCpusetBytesRead);
  for (const char* word : {"docker/", "docker-"}) {
    const std::size_t at = read.find(word);
    if (at == std::string::npos) continue;
    const std::string digits = read.substr(at + 7, kIdDigits);
    std::uint64_t id = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), id, 16);
    if (problem == std::errc() && end == digits.data() + kIdDigits) return id;
  }
  return kNotDocker;
}

std::uint64_t container_id_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cpuset");
  std::string path;
  std::getline(file, path);
  return container_id_of_cpuset(path);
}

Occupancy::Census Occupancy::census(const MountNamespace& another) const {
  Census all;
  all[another];
  for (const auto& [device, holders] : holders_) {
    for (const auto& [space, holder] : holders) all[space];
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem != std::errc() || end != name.data() + name.size()) continue;
    const auto found = all.find(mount_namespace(pid));
    if (found != all.end()) found->second.emplace(pid, start_of(pid));
  }
  return all;
}

void Occupancy::enter(const std::vector<std::uint32_t>& devices, const MountNamespace& space,
                      std::uint64_t container_id) {
  if (space.inode == 0 || devices.empty()) return;
  const Census living = census(space);
  for (const std::uint32_t device : devices) {
    holders_[device].try_emplace(space, Holder{container_id, living.at(space)});
  }
}

void Occupancy::settle(std::uint64_t now_ns, std::uint64_t patience_ns) {
  if (holders_.empty() || now_ns - settled_ns_ < patience_ns) return;
  settled_ns_ = now_ns;
  const Census living = census({});
  const auto is_over = [&living](const auto& entry) {
    const std::set<Process>& now = living.at(entry.first);
    return std::ranges::none_of(entry.second.witnesses,
                                [&now](const Process& process) { return now.contains(process); });
  };
  for (auto device = holders_.begin(); device != holders_.end();) {
    std::erase_if(device->second, is_over);
    for (auto& [space, holder] : device->second) holder.witnesses = living.at(space);
    device = device->second.empty() ? holders_.erase(device) : std::next(device);
  }
}

std::optional<std::uint64_t> Occupancy::holder(std::uint32_t device) const {
  const auto found = holders_.find(device);
  if (found == holders_.end()) return std::nullopt;
  return found->second.begin()->second.container_id;
}

bool Occupancy::held_by_another(std::uint32_t device, const MountNamespace& space) const {
  const auto found = holders_.find(device);
  if (found == holders_.end()) return false;
  return found->second.size() > 1 || found->second.count(space) == 0;
}

}  // namespace ascendsim

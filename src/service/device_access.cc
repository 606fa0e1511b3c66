#include "service/device_access.h"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "wire/doctor_texts.h"

namespace tangram::service {
namespace {

constexpr std::array kManagers = {"davinci_manager", "devmm_svm", "hisi_hdc"};

std::string name_of_group(gid_t id) {
  std::array<char, 4096> buffer{};
  group entry{};
  group* found = nullptr;
  if (getgrgid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return found->gr_name;
}

bool group_may_open(const ClosedDevice& node) {
  return (node.mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP) && !node.group.empty();
}

// A daemon that is root gives each job a uid of its own, which no group lists.
std::string setting_command(const std::string& group, const DeviceGroupSetting& setting) {
  const std::string restart = " && " + std::string(wire::doctor::kRestartDaemon);
  if (!setting.has_section) {
    return "printf '\\ndevices: {group: " + group + "}\\n' >> " + setting.file + restart;
  }
  return "${EDITOR:-vi} " + setting.file + restart + "  # devices.group: " + group;
}

}  // namespace

// As the kernel decides: the first class that the user is in counts alone.
bool may_open(const struct stat& node, const JobUser& user) {
  if (user.uid == 0) return true;
  const bool in_group = std::ranges::find(user.groups, node.st_gid) != user.groups.end();
  const mode_t needed = node.st_uid == user.uid ? S_IRUSR | S_IWUSR
                        : in_group              ? S_IRGRP | S_IWGRP
                                                : S_IROTH | S_IWOTH;
  return (node.st_mode & needed) == needed;
}

std::vector<ClosedDevice> closed_devices(const std::string& directory,
                                         const std::vector<std::uint32_t>& physical_ids,
                                         const JobUser& user) {
  std::vector<std::string> names(kManagers.begin(), kManagers.end());
  for (const std::uint32_t id : physical_ids) names.push_back("davinci" + std::to_string(id));
  std::vector<ClosedDevice> closed;
  for (const std::string& name : names) {
    const std::string path = std::string(directory).append("/").append(name);
    struct stat node{};
    if (stat(path.c_str(), &node) != 0 || may_open(node, user)) continue;
    closed.push_back({path, node.st_uid, name_of_group(node.st_gid), node.st_mode & 07777U});
  }
  return closed;
}

std::string opening_command(const std::vector<ClosedDevice>& closed, uid_t user, const Options& options) {
  const ClosedDevice& first = closed.front();
  std::string paths;
  for (const ClosedDevice& node : closed) paths += " " + node.path;
  const bool by_group = group_may_open(first);
  if (options.own_uid != 0) {
    return by_group ? "usermod -aG " + first.group + " \"$(id -nu " + std::to_string(user) + ")\""
                    : "chmod a+rw" + paths;
  }
  // The daemon looks the group up when it starts.
  if (by_group && first.group == options.device_group.name) return std::string(wire::doctor::kRestartDaemon);
  // No job is ever in root's group.
  if (by_group && first.group != "root") return setting_command(first.group, options.device_group);
  if (options.device_groups.empty()) return "chmod a+rw" + paths;
  return "chgrp " + options.device_group.name + paths + " && chmod g+rw" + paths;
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(65'536);
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  groups.push_back(getegid());
  return groups;
}

}  // namespace tangram::service

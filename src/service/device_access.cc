#include "service/device_access.h"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(65'536);
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  groups.push_back(getegid());
  return groups;
}

}  // namespace tangram::service

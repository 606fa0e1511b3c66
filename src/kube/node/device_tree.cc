#include "kube/node/device_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

namespace tangram::kube::node {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kDirectoryMode = 0755;

// Facts: the vendor's container runtime adds these to whoever gets an NPU.
constexpr std::array kCommon = {"davinci_manager", "devmm_svm", "hisi_hdc", "dvpp_cmdlist"};

bool is_device(const std::string& path, struct stat& status) {
  return stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
}

}  // namespace

Result<void> DeviceTree::clear(const std::string& share) const {
  std::error_code error;
  fs::remove_all(path_of(share), error);
  if (error) return fail(system_error("cannot remove " + path_of(share), error.value()));
  return {};
}

Result<void> DeviceTree::make_empty(const std::string& share) const {
  TG_TRY_VOID(clear(share));
  std::error_code error;
  fs::create_directories(root_, error);
  if (error || (mkdir(path_of(share).c_str(), kDirectoryMode) != 0)) {
    return fail(system_error("cannot make " + path_of(share), error ? error.value() : errno));
  }
  return {};
}

Result<void> DeviceTree::put(const std::string& share, const std::string& host_name,
                             const std::string& name) const {
  struct stat status{};
  const std::string from = devices_ + "/" + host_name;
  if (!is_device(from, status)) {
    return fail(Code::kUnavailable, "node.device.missing", from + " is not a device node",
                "check that the driver is loaded and that the agent sees the host's /dev");
  }
  TG_TRY_VOID(make_empty(share));
  const std::string to = path_of(share) + "/" + name;
  // The runtime copies number, owner and mode from it.
  if (mknod(to.c_str(), S_IFCHR | (status.st_mode & 07777U), status.st_rdev) != 0 ||
      chmod(to.c_str(), status.st_mode & 07777U) != 0 ||
      chown(to.c_str(), status.st_uid, status.st_gid) != 0) {
    return fail(system_error("cannot make " + to, errno));
  }
  return {};
}

Result<void> DeviceTree::publish(const Handed& handed) const {
  if (handed.slice) {
    const std::string name = "davinci" + std::to_string(handed.slice_id);
    for (const std::string& share : handed.ids) TG_TRY_VOID(put(share, "v" + name, name));
    return {};
  }
  for (std::size_t i = 0; i < handed.ids.size(); ++i) {
    if (i >= handed.npus.size()) {
      TG_TRY_VOID(make_empty(handed.ids[i]));
      continue;
    }
    const std::string name = "davinci" + std::to_string(handed.npus[i]);
    TG_TRY_VOID(put(handed.ids[i], name, name));
  }
  return {};
}

std::map<std::string, std::vector<std::string>> DeviceTree::contents() const {
  std::map<std::string, std::vector<std::string>> contents;
  std::error_code error;
  for (const auto& share : fs::directory_iterator(root_, error)) {
    std::error_code unreadable;
    for (const auto& node : fs::directory_iterator(share.path(), unreadable)) {
      contents[share.path().filename().string()].push_back(node.path().filename().string());
    }
  }
  return contents;
}

void DeviceTree::keep_only(const std::vector<std::string>& shares) const {
  std::error_code error;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(root_, error)) {
    if (std::ranges::find(shares, entry.path().filename().string()) == shares.end()) {
      old.push_back(entry.path());
    }
  }
  for (const fs::path& path : old) fs::remove_all(path, error);
}

std::vector<std::string> DeviceTree::common_nodes() const {
  std::vector<std::string> nodes;
  for (const char* const name : kCommon) {
    struct stat status{};
    if (is_device(devices_ + "/" + name, status)) nodes.push_back(devices_ + "/" + name);
  }
  return nodes;
}

}  // namespace tangram::kube::node

#include "runner/device_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <optional>

namespace tangram::runner {
namespace {

constexpr std::array kManagers = {"davinci_manager", "devmm_svm", "hisi_hdc"};

std::optional<DeviceNumber> find_node(const std::string& device_dir, const std::string& name) {
  struct stat info{};
  if (stat((device_dir + "/" + name).c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) return std::nullopt;
  return DeviceNumber{major(info.st_rdev), minor(info.st_rdev)};
}

Error missing_node(const std::string& device_dir, const std::string& name) {
  return {Code::kUnavailable,
          "runner.device.missing",
          device_dir + "/" + name + " is not a device node",
          "check that the driver is loaded and that the daemon's device directory is right",
          {},
          nullptr};
}

// What the host calls it, and what the job does.
struct Wanted {
  std::string host_name;
  std::string name;
};

std::vector<Wanted> wanted_nodes(const LaunchSpec& launch) {
  std::vector<Wanted> wanted;
  for (const std::uint32_t npu : launch.npus) {
    const std::string name = "davinci" + std::to_string(npu);
    wanted.push_back({name, name});
  }
  if (launch.slice) {
    const std::string name = "davinci" + std::to_string(launch.slice->id);
    wanted.push_back({"v" + name, name});
  }
  return wanted;
}

}  // namespace

Result<std::vector<DeviceNode>> find_device_nodes(const std::string& device_dir, const LaunchSpec& launch) {
  std::vector<DeviceNode> nodes;
  for (const Wanted& wanted : wanted_nodes(launch)) {
    const std::optional<DeviceNumber> number = find_node(device_dir, wanted.host_name);
    if (!number) return fail(missing_node(device_dir, wanted.host_name));
    nodes.push_back({wanted.name, *number});
  }
  if (nodes.empty()) return nodes;
  for (const char* const name : kManagers) {
    if (const std::optional<DeviceNumber> number = find_node(device_dir, name))
      nodes.push_back({name, *number});
  }
  return nodes;
}

}  // namespace tangram::runner

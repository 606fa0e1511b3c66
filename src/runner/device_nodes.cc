#include "runner/device_nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <optional>

namespace tangram::runner {
namespace {

constexpr std::array kManagers = {"davinci_manager", "devmm_svm", "hisi_hdc"};

std::optional<DeviceNode> find_node(const std::string& device_dir, const std::string& name) {
  struct stat info{};
  if (stat((device_dir + "/" + name).c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) return std::nullopt;
  return DeviceNode{name, {major(info.st_rdev), minor(info.st_rdev)}};
}

Error missing_node(const std::string& device_dir, const std::string& name) {
  return {Code::kUnavailable,
          "runner.device.missing",
          device_dir + "/" + name + " is not a device node",
          "check that the driver is loaded and that the daemon's device directory is right",
          {},
          nullptr};
}

}  // namespace

Result<std::vector<DeviceNode>> find_device_nodes(const std::string& device_dir,
                                                  const std::vector<std::uint32_t>& npus) {
  std::vector<DeviceNode> nodes;
  for (const std::uint32_t npu : npus) {
    const std::string name = "davinci" + std::to_string(npu);
    std::optional<DeviceNode> node = find_node(device_dir, name);
    if (!node) return fail(missing_node(device_dir, name));
    nodes.push_back(std::move(*node));
  }
  if (npus.empty()) return nodes;
  for (const char* const name : kManagers) {
    if (std::optional<DeviceNode> node = find_node(device_dir, name)) nodes.push_back(std::move(*node));
  }
  return nodes;
}

}  // namespace tangram::runner

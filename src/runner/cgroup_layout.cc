#include "runner/cgroup_layout.h"

#include <algorithm>
#include <array>
#include <optional>

#include "runner/files.h"

namespace tangram::runner {
namespace {

constexpr std::array kControllers = {Controller::kCpu, Controller::kMemory, Controller::kPids,
                                     Controller::kDevices, Controller::kFreezer};

constexpr std::ptrdiff_t kFieldsBeforeOptional = 6;  // of a line of mountinfo

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

ControllerSet parse_controllers(std::string_view comma_list) {
  ControllerSet set = 0;
  for (const std::string_view name : split(comma_list, ',')) {
    for (const Controller controller : kControllers) {
      if (name == to_string(controller))
        set = static_cast<ControllerSet>(set | static_cast<ControllerSet>(controller));
    }
  }
  return set;
}

// mountinfo writes blanks and backslashes in paths as \040 and the like.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size()) {
      out.push_back(
          static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0')));
      at += 3;
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

struct Membership {
  bool unified = false;
  ControllerSet controllers = 0;
  std::string path;
};

std::vector<Membership> parse_self_cgroup(std::string_view text) {
  std::vector<Membership> all;
  for (const std::string_view line : split(text, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    all.push_back({names.empty(), parse_controllers(names), std::string(line.substr(second + 1))});
  }
  return all;
}

// The path of our group below the mount. A path that is not below the mounted root (a group of another
// namespace) leaves the mount point itself, which is then all that we can reach.
std::string below_mount(const std::string& root, const std::string& path) {
  if (path.find("/..") != std::string::npos) return "";
  if (root == "/") return path == "/" ? "" : path;
  if (path.compare(0, root.size(), root) != 0) return "";
  const std::string rest = path.substr(root.size());
  return rest.empty() || rest.front() == '/' ? rest : "";
}

std::optional<Hierarchy> parse_mount(std::string_view line, const std::vector<Membership>& memberships,
                                     const std::string& prefix) {
  const std::vector<std::string_view> fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() < kFieldsBeforeOptional || fields.end() - dash < 4) return std::nullopt;
  Hierarchy found;
  found.unified = dash[1] == "cgroup2";
  if (!found.unified && dash[1] != "cgroup") return std::nullopt;
  found.controllers = found.unified ? ControllerSet{0} : parse_controllers(dash[3]);
  if (!found.unified && found.controllers == 0) return std::nullopt;
  found.mount_point = prefix + unescape(fields[4]);
  found.own_dir = found.mount_point;
  for (const Membership& membership : memberships) {
    if (membership.unified != found.unified || membership.controllers != found.controllers) continue;
    found.own_dir += below_mount(unescape(fields[3]), membership.path);
    break;
  }
  return found;
}

}  // namespace

std::string_view to_string(Controller controller) {
  switch (controller) {
    case Controller::kCpu:
      return "cpu";
    case Controller::kMemory:
      return "memory";
    case Controller::kPids:
      return "pids";
    case Controller::kDevices:
      return "devices";
    case Controller::kFreezer:
      return "freezer";
  }
  return "";
}

std::vector<Hierarchy> parse_cgroup_layout(std::string_view mountinfo, std::string_view self_cgroup,
                                           const std::string& prefix) {
  const std::vector<Membership> memberships = parse_self_cgroup(self_cgroup);
  std::vector<Hierarchy> layout;
  for (const std::string_view line : split(mountinfo, '\n')) {
    std::optional<Hierarchy> found = parse_mount(line, memberships, prefix);
    if (!found) continue;
    // The same hierarchy may be mounted twice; the first mount serves.
    const bool known = std::any_of(layout.begin(), layout.end(), [&](const Hierarchy& other) {
      return other.unified == found->unified && other.controllers == found->controllers;
    });
    if (!known) layout.push_back(std::move(*found));
  }
  return layout;
}

Result<std::vector<Hierarchy>> detect_cgroup_layout() {
  TG_TRY(const std::string mountinfo, read_file("/proc/self/mountinfo", 16 << 20));
  TG_TRY(const std::string self, read_file("/proc/self/cgroup"));
  return parse_cgroup_layout(mountinfo, self);
}

}  // namespace tangram::runner

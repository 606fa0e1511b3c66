#include "kube/protocol/names.h"

#include <algorithm>
#include <array>

namespace tangram::kube::names {
namespace {

constexpr std::string_view kHamiPrefix = "hami.io/";
constexpr std::string_view kToAllocate = "-devices-to-allocate";
constexpr std::string_view kDevicesAllocated = "-devices-allocated";
// Every chip's word begins so; "huawei.com/vnpu-mode" does not.
constexpr std::string_view kHamiChipPrefix = "hami.io/Ascend";
constexpr std::string_view kHamiDevicesPrefix = "huawei.com/Ascend";

std::string joined(std::string_view a, std::string_view b, std::string_view c = {}) {
  std::string text(a);
  text += b;
  text += c;
  return text;
}

}  // namespace

std::string template_annotation(std::size_t index) {
  return joined(kTemplatePrefix, std::to_string(index));
}
std::string resource(std::string_view word) {
  return joined(kResourcePrefix, word);
}
std::string memory_resource(std::string_view word) {
  return joined(kResourcePrefix, word, "-memory");
}
std::string core_resource(std::string_view word) {
  return joined(kResourcePrefix, word, "-core");
}
std::string hami_devices(std::string_view word) {
  return joined(kResourcePrefix, word);
}
std::string hami_to_allocate(std::string_view word) {
  return joined(kHamiPrefix, word, kToAllocate);
}
std::string hami_allocated(std::string_view word) {
  return joined(kHamiPrefix, word, kDevicesAllocated);
}
std::string hami_node_register(std::string_view word) {
  return joined("hami.io/node-register-", word);
}
std::string hami_node_handshake(std::string_view word) {
  return joined("hami.io/node-handshake-", word);
}

Mark mark_of_annotation(std::string_view key) {
  constexpr std::array kOwnKeys = {kRequested, kGranted, kAdmitted, kAllocation, kAllocated};
  constexpr std::array kAdoptedKeys = {kHamiNode, kHamiTime, kHamiPredicateTime, kHamiBindPhase,
                                       kHamiBindTime};
  const auto is_in = [key](const auto& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  if (is_in(kOwnKeys) || key.starts_with(kTemplatePrefix)) return Mark::kOwn;
  if (is_in(kAdoptedKeys) || key.starts_with(kHamiDevicesPrefix)) return Mark::kAdopted;
  const bool of_devices = key.ends_with(kToAllocate) || key.ends_with(kDevicesAllocated);
  return key.starts_with(kHamiChipPrefix) && of_devices ? Mark::kOwn : Mark::kNone;
}

Mark mark_of_label(std::string_view key) {
  if (key == kManagedLabel || key == kTenantLabel) return Mark::kOwn;
  return key == kHamiNode ? Mark::kAdopted : Mark::kNone;
}

}  // namespace tangram::kube::names

#include "kube/extender/bind_patch.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/protocol/container_request.h"
#include "kube/protocol/names.h"

namespace tangram::kube::extender {
namespace {

constexpr std::size_t kLabelBytesMax = 63;

std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string pointer(parent);
  pointer += '/';
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

std::string annotation(std::string_view key) {
  return pointer_to("/metadata/annotations", key);
}

json::object operation(std::string_view op, std::string path, json::value value) {
  json::object made{{"op", op}, {"path", std::move(path)}};
  made["value"] = std::move(value);
  return made;
}

json::object test_uid(const PodRef& pod) {
  return operation("test", "/metadata/uid", json::value(pod.uid));
}

const ContainerAllocation* share_of(const Reservation& reservation, std::string_view container) {
  const auto& all = reservation.allocation.containers;
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const ContainerAllocation& one) { return one.container == container; });
  return at == all.end() ? nullptr : &*at;
}

using Grants = std::vector<ContainerGrant>;

std::int64_t memory_of(const Grants& grants, std::string_view container) {
  const auto at = std::find_if(grants.begin(), grants.end(),
                               [&](const ContainerGrant& one) { return one.request.container == container; });
  return at == grants.end() ? 0 : at->request.memory_mib.value_or(0);
}

// "UUID,Type,memory,cores:" for each NPU, each container ended by ";": init containers first, those without
// NPUs empty. Cores are 0: HAMi counts none of a slice.
std::string hami_list(const Reservation& reservation, const PodNote& note, const Grants& grants) {
  std::string text;
  for (const std::string& name : note.containers) {
    if (const ContainerAllocation* const share = share_of(reservation, name)) {
      for (const AllocatedNpu& npu : share->npus) {
        text +=
            npu.uuid + ',' + reservation.chip_word + ',' + std::to_string(memory_of(grants, name)) + ",0:";
      }
    }
    text += ';';
  }
  return text;
}

// Flat over all containers; a whole NPU has no template.
std::string hami_devices(const Reservation& reservation, const Grants& grants) {
  json::array list;
  for (const ContainerAllocation& share : reservation.allocation.containers) {
    for (const AllocatedNpu& npu : share.npus) {
      json::object entry{{"UUID", npu.uuid}};
      if (!share.template_name.empty()) entry["temp"] = share.template_name;
      if (const std::int64_t memory = memory_of(grants, share.container)) entry["memory"] = memory;
      list.push_back(std::move(entry));
    }
  }
  return json::serialize(list);
}

// A slice's own annotation stands under its place among what was granted.
void add_templates(const Reservation& reservation, const Grants& grants,
                   std::map<std::string, std::string>& annotations) {
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const ContainerAllocation* const share = share_of(reservation, grants[i].request.container);
    if (share == nullptr || share->template_name.empty()) continue;
    annotations.emplace(names::template_annotation(i), share->template_name);
  }
}

std::map<std::string, std::string> annotations_of(const Reservation& reservation, const PodNote& note,
                                                  std::chrono::system_clock::time_point now) {
  const Grants grants = read_grants(note.granted).value_or(Grants{});
  const std::string& word = reservation.chip_word;
  const std::string devices = hami_list(reservation, note, grants);
  const std::string seconds =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  std::map<std::string, std::string> annotations = {
      {std::string(names::kAllocation), write_allocation(reservation.allocation)},
      {std::string(names::kHamiNode), reservation.allocation.node},
      {std::string(names::kHamiTime), seconds},
      {std::string(names::kHamiPredicateTime), seconds},
      {std::string(names::kHamiBindTime), seconds},
      {std::string(names::kHamiBindPhase), "allocating"},
      {names::hami_to_allocate(word), devices},
      {names::hami_allocated(word), devices},
      {names::hami_devices(word), hami_devices(reservation, grants)},
  };
  add_templates(reservation, grants, annotations);
  return annotations;
}

}  // namespace

json::array bind_patch(const PodRef& pod, const Reservation& reservation, const PodNote& note,
                       std::chrono::system_clock::time_point now) {
  json::array patch;
  patch.push_back(test_uid(pod));
  // Fails where it is not there, whatever it says: a test would have to know the value.
  const std::string admitted = annotation(names::kAdmitted);
  patch.push_back(json::object{{"op", "move"}, {"from", admitted}, {"path", admitted}});
  for (const auto& [key, value] : annotations_of(reservation, note, now)) {
    patch.push_back(operation("add", annotation(key), json::value(value)));
  }
  // A node's name may be longer than a label. Admission has given the Pod labels.
  const std::string& node = reservation.allocation.node;
  if (node.size() <= kLabelBytesMax) {
    patch.push_back(operation("add", pointer_to("/metadata/labels", names::kHamiNode), json::value(node)));
  }
  return patch;
}

json::array unbind_patch(const PodRef& pod, const Reservation& reservation) {
  json::array patch;
  patch.push_back(test_uid(pod));
  const std::string path = annotation(names::kAllocation);
  patch.push_back(operation("test", path, json::value(write_allocation(reservation.allocation))));
  patch.push_back(json::object{{"op", "remove"}, {"path", path}});
  return patch;
}

}  // namespace tangram::kube::extender

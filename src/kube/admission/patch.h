// What admission changes of a Pod, as the operations of RFC 6902. Only what differs is written, so that a Pod
// that has all of it gets an empty patch: the API server may ask again about what it has changed already.
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/admission/pod.h"
#include "kube/api/json.h"

namespace tangram::kube::admission {

// What a container is to have in its limits and its requests.
struct ContainerChange {
  const ContainerView* container = nullptr;  // of the Pod that is patched; must outlive the change
  std::map<std::string, std::int64_t> amounts;
  // Of a slice: the annotation from which kTemplateVariable is to take its value; empty: there is no such
  // variable.
  std::string template_annotation{};
};

struct PodChanges {
  std::vector<ContainerChange> containers;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string gate;  // empty: none
  std::string runtime_class;
  std::string scheduler;
  std::optional<std::int64_t> active_deadline_seconds;
};

json::array make_patch(const PodView& pod, const PodChanges& changes);

// A key as one segment of a JSON pointer: "huawei.com/x" is "huawei.com~1x".
std::string pointer_segment(std::string_view key);

}  // namespace tangram::kube::admission

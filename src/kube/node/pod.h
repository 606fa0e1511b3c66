// What the agent keeps of a Pod of its node: who it is, what it was given, how far it has come. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/json.h"
#include "ports/device_slices.h"

namespace tangram::kube::node {

struct NpuRef {
  std::string uuid;
  std::uint32_t index = 0;

  friend bool operator==(const NpuRef&, const NpuRef&) = default;
};

// What one container was given, as the extender wrote it before the Pod was bound.
struct Grant {
  bool slice = false;               // else whole NPUs
  std::string template_name;        // of a slice
  std::vector<NpuRef> npus;         // of a slice: one
  std::int32_t vgroup = kNoVgroup;  // of a slice: in which it is to be cut

  friend bool operator==(const Grant&, const Grant&) = default;
};

struct PodContainer {
  // How an init container stands, as far as the Pod's status tells.
  enum class Progress : std::uint8_t { kUnknown, kNotStarted, kRunning, kFailed, kDone };

  std::string name;
  bool init = false;  // runs to its end before the next; a sidecar is none
  Progress progress = Progress::kUnknown;
  std::optional<Grant> grant;  // none: it gets no NPU

  friend bool operator==(const PodContainer&, const PodContainer&) = default;
};

struct NodePod {
  std::string space;
  std::string name;
  std::string uid;
  bool ended = false;                    // Succeeded or Failed: none of its containers runs again
  std::vector<PodContainer> containers;  // init containers first, as they are in the Pod
  std::string problem;                   // why its allocation cannot be read; else empty
  std::string bind_phase{};              // as HAMi's annotation says; empty: it has none

  friend bool operator==(const NodePod&, const NodePod&) = default;
};

// None: the Pod is not bound to this node. One without an allocation is one whose containers have no grants.
std::optional<NodePod> read_pod(const json::object& pod, std::string_view node);

const PodContainer* find_container(const NodePod& pod, std::string_view name);

// "Pod team-a/train-0", for messages.
std::string name_of(const NodePod& pod);

}  // namespace tangram::kube::node

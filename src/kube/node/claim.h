// Which container of which Pod it is that starts, when all that the kubelet says is the ids that it has.
// Pure.
//
// The kubelet's record of what it gave to whom names UIDs and every container; pod-resources names Pods as
// they are called, and no init containers. What one says must not be against the other. A container that
// cannot be told for certain is an error, and the kubelet tries again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/node/pod.h"

namespace tangram::kube::node {

struct ContainerRef {
  std::string uid;  // of the Pod
  std::string space;
  std::string pod;
  std::string container;

  std::string to_string() const;  // "container main of Pod team-a/train-0"
  friend bool operator==(const ContainerRef&, const ContainerRef&) = default;
};

using ShareIds = std::vector<std::string>;  // sorted

struct Listed {  // by pod-resources
  std::string space;
  std::string pod;
  std::string container;
  ShareIds ids;

  friend bool operator==(const Listed&, const Listed&) = default;
};

struct Recorded {
  std::string uid;
  std::string container;
  ShareIds ids;

  friend bool operator==(const Recorded&, const Recorded&) = default;
};

struct KubeletView {
  std::vector<Listed> listed;
  std::optional<std::vector<Recorded>> recorded;  // none: it cannot be read
};

// Whether a resource of the kubelet is one that this agent offers, or has offered.
using IsOwnResource = std::function<bool(std::string_view resource)>;

// The kubelet's record (kubelet_internal_checkpoint); a container with two resources is there twice. Errors:
// kDataLoss "node.record.unreadable".
Result<std::vector<Recorded>> parse_kubelet_record(std::string_view text, const IsOwnResource& is_own);

// Whether the container has been given a place in these ids before.
using GivenBefore = std::function<bool(const ContainerRef&)>;

// Errors: kUnavailable "node.pod.unknown" when the Pod is none of `pods` (read them again), or the kubelet
// names none; kAborted "node.pod.ambiguous" and "node.pod.unsettled" when it cannot be told, perhaps only
// yet; kFailedPrecondition "node.pod.mismatch" when the sources contradict each other.
Result<ContainerRef> who_starts(const ShareIds& ids, const KubeletView& view,
                                const std::vector<NodePod>& pods, const GivenBefore& given);

// Whether the kubelet counts any of these ids as somebody's.
bool is_held(const ShareIds& ids, const ContainerRef& who, const KubeletView& view);

}  // namespace tangram::kube::node

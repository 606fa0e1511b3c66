// The names by which Tangram's parts, Kubernetes and manifests written for HAMi know each other: resources,
// gate, labels, annotations. Source of HAMi's: its scheduler and its Ascend device plugin. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tangram::kube::names {

// ---- custom resources
inline constexpr std::string_view kGroup = "tangram.dev";
inline constexpr std::string_view kVersion = "v1";

// ---- of a Pod
// Holds a Pod back until its tenant's quota has room.
inline constexpr std::string_view kGate = "tangram.dev/quota";
// Labels of every Pod that admission has changed.
inline constexpr std::string_view kManagedLabel = "tangram.dev/managed";  // "true"
inline constexpr std::string_view kTenantLabel = "tangram.dev/tenant";
// By admission: what each container asked for, and what it is given. See container_request.h.
inline constexpr std::string_view kRequested = "tangram.dev/requested";
inline constexpr std::string_view kGranted = "tangram.dev/granted";
// By the manager, together with the gate's removal: when (RFC 3339).
inline constexpr std::string_view kAdmitted = "tangram.dev/admitted";
// By the extender at the binding: which NPUs. See allocation.h.
inline constexpr std::string_view kAllocation = "tangram.dev/allocation";
// By the extender with it, one for each slice: the template. `index` is the place in kGranted. The
// container's environment takes its value from there, so that whatever starts the container reads the right
// Pod's.
inline constexpr std::string_view kTemplatePrefix = "tangram.dev/template-";
std::string template_annotation(std::size_t index);
// By the node agent: the slices that it made.
inline constexpr std::string_view kAllocated = "tangram.dev/allocated";
// By the manager, when there is room for a Pod that the cluster's scheduler has put aside: when (RFC 3339).
// Only that it changes matters.
inline constexpr std::string_view kWoken = "tangram.dev/woken";
// A condition in the Pod's status, by the manager: why it waits for its tenant's quota.
inline constexpr std::string_view kQuotaCondition = "tangram.dev/QuotaAdmitted";

// What whoever makes a Pod may say.
inline constexpr std::string_view kPriority = "tangram.dev/priority";     // "high", "normal", "low"
inline constexpr std::string_view kTimeLimit = "tangram.dev/time-limit";  // "24h"
inline constexpr std::string_view kBandwidth = "tangram.dev/bandwidth";   // "10Gbps"

// Of the CNI's bandwidth plugin: bits per second as a quantity.
inline constexpr std::string_view kIngressBandwidth = "kubernetes.io/ingress-bandwidth";
inline constexpr std::string_view kEgressBandwidth = "kubernetes.io/egress-bandwidth";

// ---- of Tangram's own Pods
inline constexpr std::string_view kLeaderLabel = "tangram.dev/leader";  // "true" on the one that leads

// ---- of a node, by its agent
// What it has. See node_npus.h.
inline constexpr std::string_view kNodeNpus = "tangram.dev/npus";

// ---- HAMi's, of a Pod
inline constexpr std::string_view kHamiNode = "hami.io/vgpu-node";  // annotation and label
inline constexpr std::string_view kHamiTime = "hami.io/vgpu-time";
inline constexpr std::string_view kHamiPredicateTime = "predicate-time";
inline constexpr std::string_view kHamiBindPhase = "hami.io/bind-phase";
inline constexpr std::string_view kHamiBindTime = "hami.io/bind-time";
inline constexpr std::string_view kHamiMode = "huawei.com/vnpu-mode";  // "hami-core": shared without slices
inline constexpr std::string_view kHamiScheduler = "hami-scheduler";

// ---- with HAMi's common word of a chip, "Ascend310P"
inline constexpr std::string_view kResourcePrefix = "huawei.com/";
// NPUs; MiB of each; percent of its cores.
std::string resource(std::string_view word);
std::string memory_resource(std::string_view word);
std::string core_resource(std::string_view word);
// Of a Pod. The template of each container; "to-allocate" is consumed, "allocated" stays.
std::string hami_devices(std::string_view word);  // "huawei.com/Ascend310P", as an annotation
std::string hami_to_allocate(std::string_view word);
std::string hami_allocated(std::string_view word);
// Of a node.
std::string hami_node_register(std::string_view word);
std::string hami_node_handshake(std::string_view word);

// Who may write a key of a Pod's annotations or labels.
enum class Mark : std::uint8_t {
  kNone,     // anybody
  kOwn,      // Tangram's parts alone, on any Pod
  kAdopted,  // Tangram's parts alone on Pods with NPUs; on others, managers of other devices write it
};
// kRequested and kGranted are admission's: it takes them from nobody else, so that they may stand on a new
// Pod.
Mark mark_of_annotation(std::string_view key);
Mark mark_of_label(std::string_view key);

}  // namespace tangram::kube::names

// What the book keeps of the API's objects, copied out of their JSON. Values and pure functions; reading
// never fails as a whole: what cannot be understood is said in the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "kube/api/json.h"
#include "kube/extender/placer.h"
#include "kube/protocol/container_request.h"
#include "kube/protocol/node_npus.h"
#include "model/tenant.h"

namespace tangram::kube::manager {

// What one container has to have, as admission has granted it.
struct ContainerNeed {
  std::string container;
  std::string word;  // "Ascend310P"
  bool init = false;
  bool sidecar = false;
  bool slice = false;  // else `count` whole NPUs
  std::string template_name;
  std::int64_t count = 1;
  std::int64_t granted_mib = 0;
  std::int64_t asked_mib = 0;  // of each NPU; 0: not said

  friend bool operator==(const ContainerNeed&, const ContainerNeed&) = default;
};

struct PodFacts {
  extender::PodRef ref;
  std::int64_t created_ms = 0;  // since 1970, by the API server's clock, in whole seconds
  std::string tenant;           // by its label, which admission guards
  Priority priority = Priority::kNormal;
  std::int64_t time_limit_ms = kUnlimited;
  std::int64_t bandwidth_bps = 0;
  std::string granted;                  // the annotation as it stands: what is charged is of this
  std::vector<ContainerNeed> needs;     // as `granted` says
  std::string problem;                  // why `granted` cannot be understood; else empty
  std::optional<std::uint32_t> gate{};  // where our gate stands among the Pod's; none: it is open
  bool admitted = false;                // a manager has opened it
  std::string allocation;               // the annotation; empty: none
  std::string node;                     // bound to it; empty: not bound
  bool ended = false;                   // Succeeded or Failed: holds nothing any more
  bool going = false;                   // it is being deleted
  std::string told;                     // what our condition says: "reason\nmessage"; empty: there is none

  bool open() const { return !gate && admitted; }
  friend bool operator==(const PodFacts&, const PodFacts&) = default;
};

// None: the Pod is none of ours (without the label that admission puts on).
std::optional<PodFacts> read_pod_facts(const json::object& pod);

std::string key_of(const extender::PodRef& pod);  // "namespace/name"

struct NodeFacts {
  std::string name;
  std::string unusable;  // why its NPUs are not given out now; empty: they are
  NodeNpus inventory;

  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

// None: it shows no NPUs. One whose inventory cannot be read is unusable, and has none.
std::optional<NodeFacts> read_node_facts(const json::object& node);

// "2026-01-31T08:00:00Z" as milliseconds since 1970; 0 when it is no such time.
std::int64_t milliseconds_of(std::string_view time);

}  // namespace tangram::kube::manager

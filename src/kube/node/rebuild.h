// Who has what, when the ledger is gone or damaged: told from what the kubelet has written down, what stands
// in the places of its containers, and what the hardware shows. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/node/claim.h"
#include "kube/node/hand_out.h"
#include "ports/devices.h"

namespace tangram::kube::node {

// Names of the nodes in the place of each share: "davinci103". As DeviceTree::contents() reads them.
using PlaceContents = std::map<std::string, std::vector<std::string>>;

struct Rebuilt {
  std::vector<Handed> entries;       // all kHeld; no slice is there twice
  std::vector<std::string> unclear;  // of whom it cannot be told, one sentence each
};

// An entry needs two witnesses: the kubelet counts the shares as a container's, and in their places stand
// nodes of a slice that the hardware shows, or of an NPU. A container whose places are empty was never
// started, and has nothing. What only the hardware shows is nobody's and stays as it is. `pods` may lack
// some: what they were given then cannot be compared.
Rebuilt rebuild(const KubeletView& view, const std::vector<NodePod>& pods, const PlaceContents& contents,
                const DeviceScan& scan);

}  // namespace tangram::kube::node

// Reads the machine through libdcmi.so.
#pragma once

#include <optional>

#include "ascendsim/npu_smi/snapshot.h"
#include "ascendsim/npu_smi/vnpu.h"

namespace ascendsim::npu_smi {

// DCMI codes; after 0 the out-parameter is complete (which may mean: no card). With `only`, the other cards
// are listed and nothing is asked of them: one that hangs is not in the way.
int collect(Snapshot* snapshot, std::optional<int> only);
int collect_vnpus(int card, int device, VnpuChip* chip);

Topology collect_topology(const Snapshot& snapshot);

}  // namespace ascendsim::npu_smi

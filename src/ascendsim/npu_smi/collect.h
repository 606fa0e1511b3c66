// Reads the machine through libdcmi.so.
#pragma once

#include "ascendsim/npu_smi/snapshot.h"

namespace ascendsim::npu_smi {

// DCMI codes; after 0 `snapshot` is complete (which may mean: no card).
int collect(Snapshot* snapshot);

Topology collect_topology(const Snapshot& snapshot);

}  // namespace ascendsim::npu_smi

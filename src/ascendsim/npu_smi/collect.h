// Reads the machine through libdcmi.so.
#pragma once

#include "ascendsim/npu_smi/snapshot.h"
#include "ascendsim/npu_smi/vnpu.h"

namespace ascendsim::npu_smi {

// DCMI codes; after 0 the out-parameter is complete (which may mean: no card).
int collect(Snapshot* snapshot);
int collect_vnpus(int card, int device, VnpuChip* chip);

Topology collect_topology(const Snapshot& snapshot);

}  // namespace ascendsim::npu_smi

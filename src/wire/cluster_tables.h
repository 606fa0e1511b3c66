// The tables of the custom resources' specs. Private to wire.
#pragma once

#include <vector>

#include "wire/cluster.h"
#include "wire/schema.h"
#include "wire/table.h"

namespace tangram::wire {

const Table<ClusterTenant>& cluster_tenant_spec_table();
const Table<ClusterChip>& cluster_chip_spec_table();
const Table<NodeConfig>& node_config_spec_table();

// Every object inside of those specs that schema.h does not describe.
std::vector<DocumentInfo> cluster_documents();

}  // namespace tangram::wire

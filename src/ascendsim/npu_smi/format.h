// From a snapshot to the text the real npu-smi prints. Pure. Layouts follow the chip family of the first
// card.
#pragma once

#include <string>

#include "ascendsim/npu_smi/snapshot.h"

namespace ascendsim::npu_smi {

std::string format_info(const Snapshot& snapshot);
std::string format_list(const Snapshot& snapshot);
std::string format_map(const Snapshot& snapshot);
std::string format_topology(const Topology& topology);

// Queries about one card; `chip` is null for the whole card.
std::string format_board(const Snapshot& snapshot, const Card& card, const Chip* chip);
std::string format_usages(const Card& card, const Chip* chip);
std::string format_memory(const Card& card, const Chip* chip);
std::string format_processes(const Card& card, const Chip* chip);
std::string format_common(const Card& card, const Chip* chip);
std::string format_health(const Card& card, const Chip* chip);
std::string format_temperature(const Card& card, const Chip* chip);
std::string format_power(const Card& card, const Chip* chip);
std::string format_voltage(const Card& card, const Chip* chip);

// "OK", "Warning", "Alarm", "Critical", "UNKNOWN".
std::string health_text(const Chip& chip);
// "0000:C1:00.0"
std::string bus_text(const Chip& chip);

}  // namespace ascendsim::npu_smi

#include "service/node_report.h"

#include <map>
#include <utility>

namespace tangram::service {
namespace {

std::map<std::uint32_t, NpuReport> known_npus(const Scheduler& core, const std::string& node) {
  std::map<std::uint32_t, NpuReport> known;
  for (const NpuView& npu : core.npus()) {
    if (core.node_name(npu.node) == node) known[npu.report.physical_id] = npu.report;
  }
  return known;
}

NpuReport report_of(const DeviceNpu& npu, const NpuReport* before) {
  NpuReport report;
  report.physical_id = npu.physical_id;
  report.chip = npu.chip.empty() && before != nullptr ? before->chip : npu.chip;
  report.health = npu.health;
  if (npu.memory_total.valid) {
    report.memory = npu.memory_total.value;
  } else if (before != nullptr) {
    report.memory = before->memory;
  }
  if (npu.ai_cores.valid) {
    report.ai_cores = npu.ai_cores.value;
  } else if (before != nullptr) {
    report.ai_cores = before->ai_cores;
  }
  if (report.memory.count <= 0 && report.health == Health::kOk) report.health = Health::kUnknown;
  return report;
}

}  // namespace

std::optional<NodeReported> make_node_report(const Scheduler& core, const std::string& node,
                                             const DeviceReadings& readings) {
  const auto known = known_npus(core, node);
  NodeReported report;
  report.node = node;
  NodeReported before;
  before.node = node;
  for (const auto& [id, npu] : known) {
    if (npu.health != Health::kAbsent) before.npus.push_back(npu);
  }
  if (readings.available) {
    for (const DeviceNpu& npu : readings.npus) {
      if (npu.health == Health::kAbsent) continue;
      const auto found = known.find(npu.physical_id);
      report.npus.push_back(report_of(npu, found == known.end() ? nullptr : &found->second));
    }
  } else {
    report.npus = before.npus;
    for (NpuReport& npu : report.npus) npu.health = Health::kUnknown;
  }
  if (report == before) return std::nullopt;
  return report;
}

}  // namespace tangram::service

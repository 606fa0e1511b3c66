#include "service/device_use.h"

#include <algorithm>

namespace tangram::service {

std::optional<Bytes> memory_used_by(const DeviceReadings& readings, std::uint32_t physical_id,
                                    const std::string& job) {
  const auto npu = std::find_if(readings.npus.begin(), readings.npus.end(),
                                [&](const DeviceNpu& n) { return n.physical_id == physical_id; });
  if (npu == readings.npus.end() || !npu->processes.valid || !readings.owners) return std::nullopt;
  Bytes used;
  for (const DeviceProcess& process : npu->processes.value) {
    const auto owner = readings.owners->find(process.pid);
    if (owner != readings.owners->end() && owner->second.job == job) used += process.memory;
  }
  return used;
}

std::optional<std::map<std::int64_t, AttemptKey>> find_owners(const Executor& executor,
                                                              const std::vector<DeviceNpu>& npus) {
  std::map<std::int64_t, AttemptKey> owners;
  for (const DeviceNpu& npu : npus) {
    for (const DeviceProcess& process : npu.processes.value) {
      if (owners.contains(process.pid)) continue;
      const auto answer = executor.owner_of(process.pid);
      if (!answer) return std::nullopt;
      const std::optional<AttemptKey>& owner = *answer;
      if (owner) owners.emplace(process.pid, *owner);
    }
  }
  return owners;
}

}  // namespace tangram::service

#include "service/device_use.h"

#include <algorithm>

namespace tangram::service {
namespace {

bool is_cut(const DeviceNpu& npu) {
  return npu.slicing.slices.valid && !npu.slicing.slices.value.empty();
}

std::optional<Bytes> use_of_system(const DeviceReadings& readings, const DeviceNpu& npu) {
  if (const auto idle = readings.idle_use.find(npu.physical_id); idle != readings.idle_use.end())
    return idle->second;
  if (!npu.memory_used.valid || !npu.processes.valid) return std::nullopt;
  Bytes of_system = npu.memory_used.value;
  for (const DeviceProcess& process : npu.processes.value) of_system -= process.memory;
  return of_system;
}

}  // namespace

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

void note_idle_use(DeviceReadings& readings) {
  for (const DeviceNpu& npu : readings.npus) {
    const bool is_idle = npu.processes.valid && npu.processes.value.empty() && !is_cut(npu);
    if (is_idle && npu.memory_used.valid) readings.idle_use[npu.physical_id] = npu.memory_used.value;
  }
}

std::optional<Bytes> usable_whole(const DeviceReadings& readings, std::uint32_t physical_id) {
  const auto npu = std::find_if(readings.npus.begin(), readings.npus.end(),
                                [&](const DeviceNpu& n) { return n.physical_id == physical_id; });
  if (npu == readings.npus.end() || is_cut(*npu) || !npu->memory_total.valid) return std::nullopt;
  const std::optional<Bytes> of_system = use_of_system(readings, *npu);
  // Read one after the other, the figures may be of different moments.
  if (!of_system || of_system->count < 0 || *of_system > npu->memory_total.value) return std::nullopt;
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  return Bytes::mib((npu->memory_total.value - *of_system).count / kMib);
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

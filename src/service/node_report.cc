#include "service/node_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tangram::service {
namespace {

// What is known of the node, in the order of a report; without what is absent.
NodeReported last_report(const Scheduler& core, const std::string& node) {
  std::map<std::uint32_t, NpuReport> known;
  for (const NpuView& npu : core.npus()) {
    if (npu.report.health != Health::kAbsent && core.node_name(npu.node) == node) {
      known[npu.report.physical_id] = npu.report;
    }
  }
  NodeReported report;
  report.node = node;
  for (auto& [id, npu] : known) report.npus.push_back(std::move(npu));
  return report;
}

// Sizes of an NPU that is absent at present are known all the same.
std::map<std::uint32_t, NpuReport> known_npus(const Scheduler& core, const std::string& node) {
  std::map<std::uint32_t, NpuReport> known;
  for (const NpuView& npu : core.npus()) {
    if (core.node_name(npu.node) == node) known[npu.report.physical_id] = npu.report;
  }
  return known;
}

// An NPU that could not be cut is given to nobody for as long as the trace of that stands: not the template
// alone may be at fault, and another NPU may do.
StraySlice trace_of_refusal(std::uint32_t id) {
  return {id, std::string(), kNoVgroup, true};
}

StraySlice residual_of(std::uint32_t id, const SliceEntry& entry) {
  if (entry.failed) return trace_of_refusal(id);
  return {id, entry.template_name, entry.vgroup, true};
}

// Somebody may have cut it and use it, whom we do not know.
bool may_be_used(const DeviceSlice& slice, const DeviceNpu& npu, const DeviceReadings& readings) {
  if (!slice.container_used.valid || slice.container_used.value) return true;
  if (!npu.processes.valid || !readings.owners) return true;
  const std::vector<DeviceProcess>& processes = npu.processes.value;
  return std::any_of(processes.begin(), processes.end(), [&readings](const DeviceProcess& process) {
    return !readings.owners->contains(process.pid);
  });
}

class Reporter {
 public:
  Reporter(const State& state, const std::string& node, const DeviceReadings& readings, bool private_devices,
           const std::set<std::uint32_t>& returned, const std::map<std::uint32_t, std::uint32_t>& resting)
      : state_(state),
        node_(node),
        readings_(readings),
        returned_(returned),
        resting_(resting),
        catalog_(state.core().catalog()),
        private_devices_(private_devices) {}

  NpuReport report_of(const DeviceNpu& npu, const NpuReport* before) const {
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
    if (auto set = template_set_of(npu, readings_, before, {*catalog_, private_devices_})) {
      report.cuttable = true;
      report.template_set = std::move(*set);
    }
    report.strays = strays_of(npu, before);
    return report;
  }

 private:
  std::vector<StraySlice> strays_of(const DeviceNpu& npu, const NpuReport* before) const {
    std::map<std::uint32_t, StraySlice> strays;
    if (npu.slicing.slices.valid) {
      for (const DeviceSlice& slice : npu.slicing.slices.value) {
        if (state_.slices().contains(slice.id) || returned_.contains(slice.id)) continue;
        StraySlice stray;
        stray.id = slice.id;
        if (slice.template_name.valid) stray.template_name = slice.template_name.value;
        if (slice.vgroup_id.valid) stray.vgroup = static_cast<std::int32_t>(slice.vgroup_id.value);
        stray.residual = !may_be_used(slice, npu, readings_);
        strays[slice.id] = std::move(stray);
      }
    } else if (before != nullptr) {
      for (const StraySlice& stray : before->strays) strays[stray.id] = stray;
    }
    for (const auto& [id, entry] : state_.slices()) {
      if (entry.ended && is_here(entry, npu.physical_id)) strays[id] = residual_of(id, entry);
    }
    for (const auto& [id, physical_id] : resting_) {
      if (physical_id == npu.physical_id) strays[id] = trace_of_refusal(id);
    }
    std::vector<StraySlice> all;
    all.reserve(strays.size());
    for (auto& [id, stray] : strays) all.push_back(std::move(stray));
    return all;
  }

  bool is_here(const SliceEntry& entry, std::uint32_t physical_id) const {
    if (entry.physical_id != physical_id) return false;
    const auto npu = state_.core().npu(entry.npu);
    return npu && state_.core().node_name(npu->node) == node_;
  }

  const State& state_;
  const std::string& node_;
  const DeviceReadings& readings_;
  const std::set<std::uint32_t>& returned_;
  const std::map<std::uint32_t, std::uint32_t>& resting_;
  const std::shared_ptr<const Catalog> catalog_;
  const bool private_devices_;
};

// With that NPU as `change` makes it. None: nothing changes, or it is absent.
template <class Change>
std::optional<NodeReported> report_changed(const State& state, NpuIndex npu, Change change) {
  const auto view = state.core().npu(npu);
  if (!view) return std::nullopt;
  const std::string node = state.core().node_name(view->node);
  NodeReported report = last_report(state.core(), node);
  const auto found = std::find_if(report.npus.begin(), report.npus.end(), [&](const NpuReport& one) {
    return one.physical_id == view->report.physical_id;
  });
  if (found == report.npus.end()) return std::nullopt;
  NpuReport changed = *found;
  change(changed);
  if (changed == *found) return std::nullopt;
  *found = std::move(changed);
  return report;
}

// Without what it says of that slice, and with `instead` in its place, if there is one.
std::optional<NodeReported> report_with(const State& state, NpuIndex npu, std::uint32_t id,
                                        const std::optional<StraySlice>& instead) {
  return report_changed(state, npu, [&](NpuReport& report) {
    std::vector<StraySlice>& strays = report.strays;
    std::erase_if(strays, [id](const StraySlice& stray) { return stray.id == id; });
    if (!instead) return;
    const auto place =
        std::find_if(strays.begin(), strays.end(), [id](const StraySlice& other) { return other.id > id; });
    strays.insert(place, *instead);
  });
}

}  // namespace

std::optional<NodeReported> make_node_report(const State& state, const std::string& node,
                                             const DeviceReadings& readings, bool private_devices,
                                             const std::set<std::uint32_t>& returned,
                                             const std::map<std::uint32_t, std::uint32_t>& resting) {
  const NodeReported before = last_report(state.core(), node);
  NodeReported report;
  report.node = node;
  if (readings.available) {
    const auto known = known_npus(state.core(), node);
    const Reporter reporter(state, node, readings, private_devices, returned, resting);
    for (const DeviceNpu& npu : readings.npus) {
      if (npu.health == Health::kAbsent) continue;
      const auto found = known.find(npu.physical_id);
      report.npus.push_back(reporter.report_of(npu, found == known.end() ? nullptr : &found->second));
    }
  } else {
    report.npus = before.npus;
    for (NpuReport& npu : report.npus) npu.health = Health::kUnknown;
  }
  if (report == before) return std::nullopt;
  return report;
}

std::optional<NodeReported> report_slice(const State& state, NpuIndex npu, std::uint32_t id) {
  const auto entry = state.slices().find(id);
  const bool left = entry != state.slices().end() && entry->second.ended;
  return report_with(state, npu, id, left ? std::optional(residual_of(id, entry->second)) : std::nullopt);
}

std::optional<NodeReported> report_not_cut(const State& state, NpuIndex npu) {
  return report_changed(state, npu, [](NpuReport& report) {
    report.cuttable = false;
    report.template_set.clear();
  });
}

std::optional<NodeReported> report_resting(const State& state, NpuIndex npu, std::uint32_t id) {
  return report_with(state, npu, id, trace_of_refusal(id));
}

}  // namespace tangram::service

#include "scheduler/cluster_book.h"

#include <algorithm>
#include <tuple>

namespace tangram::testing {
namespace {

struct TryNpu {
  const NpuReport* report = nullptr;
  bool whole = false;
  std::vector<std::pair<std::string, std::int32_t>> slices;  // template and vGroup
};

bool is_idle(const TryNpu& npu) {
  return npu.report->health == Health::kOk && !npu.whole && npu.slices.empty();
}

bool is_legal(const CutRules& rules, const TryNpu& npu) {
  const std::uint32_t chip = rules.chip_of(*npu.report);
  std::vector<StandingSlice> standing;
  for (const auto& [name, vgroup] : npu.slices) standing.push_back({name, vgroup});
  return chip != kNoChip && rules.state_of(chip, standing) != kNoState;
}

// All ways to give the parts from `at` on.
bool try_all(const CutRules& rules, const std::vector<Part>& parts, std::size_t at,
             std::vector<TryNpu>& npus) {
  if (at == parts.size()) return true;
  const Part& part = parts[at];
  if (part.kind == RequestKind::kWhole) {
    // Of idle ones those that cannot be cut are of no other use.
    std::vector<TryNpu*> taken;
    for (const bool cuttable : {false, true}) {
      for (TryNpu& npu : npus) {
        if (taken.size() == static_cast<std::size_t>(part.npus)) break;
        if (is_idle(npu) && npu.report->cuttable == cuttable) taken.push_back(&npu);
      }
    }
    if (taken.size() < static_cast<std::size_t>(part.npus)) return false;
    for (TryNpu* npu : taken) npu->whole = true;
    const bool fits = try_all(rules, parts, at + 1, npus);
    for (TryNpu* npu : taken) npu->whole = false;
    return fits;
  }
  for (TryNpu& npu : npus) {
    if (npu.report->health != Health::kOk || npu.whole || !npu.report->cuttable) continue;
    const ChipModel& model = rules.model(rules.chip_of(*npu.report));
    for (const SliceTemplate& shape : model.templates) {
      if (!shape.offered || shape.memory != part.memory_per_npu || shape.ai_cores() != part.ai_cores)
        continue;
      std::vector<std::vector<std::string>> tried;  // vGroups with the same in them are alike
      for (std::int32_t vgroup = 0; vgroup < model.vgroups; ++vgroup) {
        std::vector<std::string> content;
        for (const auto& [name, other] : npu.slices) {
          if (other == vgroup) content.push_back(name);
        }
        std::sort(content.begin(), content.end());
        if (std::find(tried.begin(), tried.end(), content) != tried.end()) continue;
        tried.push_back(content);
        npu.slices.emplace_back(shape.name, vgroup);
        const bool fits = is_legal(rules, npu) && try_all(rules, parts, at + 1, npus);
        npu.slices.pop_back();
        if (fits) return true;
      }
    }
  }
  return false;
}

}  // namespace

Amounts ClusterBook::charge_of(const Job& job) {
  Amounts sum{0, 0, 0, 1, job.spec.bandwidth_bps};
  for (std::size_t i = 0; i < job.parts.size(); ++i) {
    const Part& part = job.parts[i];
    const bool is_known = i < job.places.size() && !job.places[i].npus.empty();
    const std::int64_t npus = is_known ? static_cast<std::int64_t>(job.places[i].npus.size()) : part.npus;
    sum[0] += npus;
    sum[1] += part.memory_per_npu.count * npus;
    sum[2] += std::int64_t{part.ai_cores} * npus;
  }
  return sum;
}

std::vector<std::uint32_t> ClusterBook::path(std::uint32_t tenant) const {
  std::vector<std::uint32_t> path = {tenant};
  while (!tenants.at(path.back()).parent.empty()) {
    const auto parent = std::find_if(tenants.begin(), tenants.end(), [&](const auto& other) {
      return other.second.name == tenants.at(path.back()).parent;
    });
    path.push_back(parent->first);
  }
  return path;
}

Amounts ClusterBook::used(std::uint32_t tenant) const {
  Amounts sum{};
  for (const auto& [id, job] : jobs) {
    const std::vector<std::uint32_t> owners = path(job.spec.tenant.value);
    if (job.where == Where::kQueued || std::find(owners.begin(), owners.end(), tenant) == owners.end())
      continue;
    const Amounts charge = charge_of(job);
    for (std::size_t i = 0; i < kCountableCount; ++i) sum[i] += charge[i];
  }
  return sum;
}

bool ClusterBook::fits_quota(const Job& job) const {
  const Amounts charge = charge_of(job);
  for (const std::uint32_t at : path(job.spec.tenant.value)) {
    const Amounts limit = limits_of(tenants.at(at).quota);
    const Amounts now = used(at);
    for (std::size_t i = 0; i < kCountableCount; ++i) {
      if (charge[i] > 0 && now[i] + charge[i] > limit[i]) return false;
    }
  }
  return true;
}

std::vector<std::uint64_t> ClusterBook::admitted() const {
  ClusterBook copy = *this;
  std::vector<std::tuple<Priority, std::uint64_t>> order;
  for (const auto& [id, job] : jobs) {
    if (job.where == Where::kQueued) order.emplace_back(job.spec.priority, id);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::uint64_t> result;
  for (const auto& [priority, id] : order) {
    if (!copy.fits_quota(copy.jobs.at(id))) continue;
    copy.jobs.at(id).where = Where::kUnplaced;
    result.push_back(id);
  }
  return result;
}

bool ClusterBook::fits_on(const Scheduler& core, const std::vector<Part>& parts, NodeIndex node) {
  const CutRules rules(core.catalog());
  const std::vector<NpuView> views = core.npus();
  std::vector<TryNpu> npus;
  for (const NpuView& view : views) {
    if (view.node != node || view.report.health == Health::kAbsent) continue;
    TryNpu& npu = npus.emplace_back();
    npu.report = &view.report;
    npu.whole = view.job.valid();
    for (const NpuView::Slice& slice : view.slices)
      npu.slices.emplace_back(slice.placement.template_name, slice.placement.vgroup);
  }
  return try_all(rules, parts, 0, npus);
}

}  // namespace tangram::testing

#include "scheduler/oracle.h"

#include <algorithm>
#include <limits>

namespace tangram::testing {

void Oracle::add_nodes(const NodeReported& reported) {
  std::size_t order = 0;
  for (const Npu& npu : npus) order = std::max(order, npu.node_order + 1);
  for (const Npu& npu : npus) {
    if (npu.node == reported.node) order = npu.node_order;
  }
  for (Npu& npu : npus) {
    if (npu.node == reported.node) npu.report.health = Health::kAbsent;
  }
  for (const NpuReport& report : reported.npus) {
    const auto known = std::find_if(npus.begin(), npus.end(), [&](const Npu& npu) {
      return npu.node == reported.node && npu.report.physical_id == report.physical_id;
    });
    if (known == npus.end()) {
      npus.push_back({reported.node, order, report, std::nullopt, {}});
    } else {
      known->report = report;
    }
  }
}

void Oracle::apply(const Input& input, std::int64_t now) {
  if (const auto* settings = std::get_if<SettingsChanged>(&input)) {
    keep_after = settings->keep_after_ms;
    variants = settings->slice_variants;
    slice_count = settings->slice_count;
  }
  if (const auto* reported = std::get_if<NodeReported>(&input)) add_nodes(*reported);
  if (const auto* put = std::get_if<TenantPut>(&input)) tenants[put->id.value] = put->spec;
  if (const auto* deleted = std::get_if<TenantDeleted>(&input)) tenants.erase(deleted->id.value);
  if (const auto* observed = std::get_if<AllocationObserved>(&input)) observe(*observed, now);
  if (const auto* submitted = std::get_if<JobSubmitted>(&input)) {
    Job job;
    job.spec = submitted->spec;
    job.queued_at = now;
    jobs[job.spec.id.value] = job;
  }
  if (const auto* cancelled = std::get_if<JobCancelled>(&input)) {
    Job& job = jobs.at(cancelled->job.value);
    job.cancelled = true;
    if (job.queued) jobs.erase(cancelled->job.value);
  }
  if (const auto* ended = std::get_if<AttemptEnded>(&input)) {
    Job& job = jobs.at(ended->job.value);
    for (const NpuIndex npu : job.npus) {
      if (!job.slice) npus[npu.value].job.reset();
      npus[npu.value].slices.erase(ended->job.value);
    }
    job.npus.clear();
    job.slice.reset();
    job.charge = {};
    job.queued = true;
    job.queued_at = now;
    if (!ended->requeue) jobs.erase(ended->job.value);
  }
}

void Oracle::observe(const AllocationObserved& observed, std::int64_t now) {
  Job job;
  job.spec = observed.spec;
  job.queued = false;
  job.attempt = observed.attempt;
  job.queued_at = now;
  job.npus = observed.npus;
  job.slice = observed.slice;
  jobs[observed.spec.id.value] = job;
  if (observed.slice) {
    npus[observed.npus.front().value].slices[observed.spec.id.value] = *observed.slice;
    jobs[observed.spec.id.value].charge = charge_of(job, *observed.slice);
    return;
  }
  job.charge = {static_cast<std::int64_t>(observed.npus.size()), 0, 0, 1, observed.spec.bandwidth_bps};
  for (const NpuIndex npu : observed.npus) {
    job.charge[1] += npus[npu.value].report.memory.count;
    job.charge[2] += npus[npu.value].report.ai_cores;
    npus[npu.value].job = observed.spec.id.value;
  }
  jobs[observed.spec.id.value] = job;
}

void Oracle::apply(const Decision& decision, std::int64_t /*now*/) {
  if (const auto* refused = std::get_if<JobRefused>(&decision)) jobs.erase(refused->job.value);
  const auto* started = std::get_if<JobStarted>(&decision);
  if (started == nullptr) return;
  Job& job = jobs.at(started->job.value);
  job.charge = started->slice ? charge_of(job, *started->slice)
                              : charge_for(job, kind_of(npus[started->npus.front().value].report));
  job.queued = false;
  job.attempt = started->attempt;
  job.npus = started->npus;
  job.slice = started->slice;
  if (started->slice) {
    npus[started->npus.front().value].slices[started->job.value] = *started->slice;
    return;
  }
  for (const NpuIndex npu : started->npus) npus[npu.value].job = started->job.value;
}

std::array<std::int64_t, 5> Oracle::limits(const Quota& quota) {
  return {quota.npus, quota.memory_total.count, quota.ai_cores, quota.running_jobs, quota.bandwidth_bps};
}

std::vector<std::uint32_t> Oracle::path(std::uint32_t tenant) const {
  std::vector<std::uint32_t> path{tenant};
  for (std::string parent = tenants.at(tenant).parent; !parent.empty();) {
    for (const auto& [id, spec] : tenants) {
      if (spec.name == parent) path.push_back(id);
    }
    parent = tenants.at(path.back()).parent;
  }
  return path;
}

std::array<std::int64_t, 5> Oracle::usage(std::uint32_t tenant) const {
  std::array<std::int64_t, 5> sum{};
  for (const auto& [id, job] : jobs) {
    const std::vector<std::uint32_t> nodes = path(job.spec.tenant.value);
    if (std::find(nodes.begin(), nodes.end(), tenant) == nodes.end()) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += job.charge[i];
  }
  return sum;
}

std::vector<std::uint64_t> Oracle::ranked(std::int64_t now) const {
  std::vector<std::tuple<bool, int, std::uint64_t>> order;
  for (const auto& [id, job] : jobs) {
    if (job.queued) order.emplace_back(!is_overdue(job, now), static_cast<int>(job.spec.priority), id);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::uint64_t> ids;
  ids.reserve(order.size());
  for (const auto& [late, priority, id] : order) ids.push_back(id);
  return ids;
}

std::vector<Oracle::Kind> Oracle::kinds_for(const Job& job, bool healthy_only) const {
  std::map<std::tuple<Kind, std::string>, std::int32_t> counts;
  for (const Npu& npu : npus) {
    if (npu.report.health == Health::kAbsent || (healthy_only && npu.report.health != Health::kOk)) continue;
    ++counts[{kind_of(npu.report), npu.node}];
  }
  std::vector<Kind> kinds;
  for (const auto& [key, count] : counts) {
    const Kind& kind = std::get<0>(key);
    if (count < job.spec.request.npus || std::get<0>(kind) < job.spec.request.memory_per_npu.count) continue;
    if (kinds.empty() || kinds.back() != kind) kinds.push_back(kind);
  }
  return kinds;
}

std::array<std::int64_t, 5> Oracle::charge_for(const Job& job, const Kind& kind) const {
  const std::int64_t count = job.spec.request.npus;
  return {count, count * std::get<0>(kind), count * std::get<2>(kind), 1, job.spec.bandwidth_bps};
}

bool Oracle::within_quota(const Job& job, const Kind& kind) const {
  return within_quota(job, charge_for(job, kind));
}

bool Oracle::within_quota(const Job& job, const std::array<std::int64_t, 5>& charge) const {
  for (const std::uint32_t tenant : path(job.spec.tenant.value)) {
    const std::array<std::int64_t, 5> used = usage(tenant);
    const std::array<std::int64_t, 5> limit = limits(tenants.at(tenant).quota);
    for (std::size_t i = 0; i < charge.size(); ++i) {
      if (charge[i] > 0 && used[i] + charge[i] > limit[i]) return false;
    }
  }
  return true;
}

std::optional<std::vector<NpuIndex>> Oracle::place(const Job& job, const std::vector<Kind>& kinds,
                                                   const Keeping& keeping) const {
  using Key = std::tuple<std::int64_t, std::int32_t, std::size_t, Kind>;  // memory, free, node, kind
  std::optional<Key> best;
  std::vector<NpuIndex> chosen;
  std::map<std::tuple<std::size_t, Kind>, std::vector<std::pair<std::uint32_t, NpuIndex>>> free;
  std::map<std::tuple<std::size_t, Kind>, std::int32_t> healthy;
  for (std::uint32_t i = 0; i < npus.size(); ++i) {
    const Npu& npu = npus[i];
    if (npu.report.health != Health::kOk) continue;
    ++healthy[{npu.node_order, kind_of(npu.report)}];
    if (npu.is_free())
      free[{npu.node_order, kind_of(npu.report)}].emplace_back(npu.report.physical_id, NpuIndex(i));
  }
  for (auto& [key, list] : free) {
    const Kind& kind = std::get<1>(key);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
    if (list.size() < static_cast<std::size_t>(job.spec.request.npus)) continue;
    const bool is_kept = std::any_of(keeping.of.begin(), keeping.of.end(), [&](const auto& kept) {
      return std::get<0>(kept) == kind && healthy[key] >= std::get<1>(kept);
    });
    if (is_kept) continue;
    const Key rank{std::get<0>(kind), static_cast<std::int32_t>(list.size()), std::get<0>(key), kind};
    if (best && *best <= rank) continue;
    best = rank;
    std::sort(list.begin(), list.end());
    chosen.clear();
    for (std::int32_t i = 0; i < job.spec.request.npus; ++i)
      chosen.push_back(list[static_cast<std::size_t>(i)].second);
    std::sort(chosen.begin(), chosen.end());
  }
  if (!best) return std::nullopt;
  return chosen;
}

std::optional<Oracle::Verdict> Oracle::judge_limits(const Job& job, const std::array<std::int64_t, 5>& least,
                                                    bool exists, bool exists_healthy, std::int64_t now,
                                                    Keeping& keeping, bool& ambiguous) const {
  std::vector<std::uint32_t> blocking;
  for (const std::uint32_t tenant : path(job.spec.tenant.value)) {
    const Quota& quota = tenants.at(tenant).quota;
    if (!quota.priorities.contains(job.spec.priority)) return Verdict{Fate::kNever, {}, {}};
    if (job.spec.request.memory_per_npu > quota.memory_per_npu) return Verdict{Fate::kNever, {}, {}};
    const std::array<std::int64_t, 5> used = usage(tenant);
    const std::array<std::int64_t, 5> limit = limits(quota);
    bool blocks = false;
    for (std::size_t i = 0; i < least.size(); ++i) {
      if (least[i] > limit[i]) return Verdict{Fate::kNever, {}, {}};
      blocks = blocks || (least[i] > 0 && used[i] + least[i] > limit[i]);
    }
    if (blocks) blocking.push_back(tenant);
  }
  if (!exists) return Verdict{Fate::kImpossible, {}, {}};
  if (!blocking.empty()) {
    if (is_overdue(job, now) && exists_healthy) {
      keeping.quota_of.push_back(blocking.front());
      ambiguous = ambiguous || blocking.size() > 1;
    }
    return Verdict{Fate::kQuota, {}, {}};
  }
  for (const std::uint32_t tenant : path(job.spec.tenant.value)) {
    if (std::find(keeping.quota_of.begin(), keeping.quota_of.end(), tenant) != keeping.quota_of.end()) {
      return Verdict{Fate::kQuotaKept, {}, {}};
    }
  }
  return std::nullopt;
}

Oracle::Verdict Oracle::judge(const Job& job, std::int64_t now, Keeping& keeping, bool& ambiguous) const {
  if (job.spec.request.kind == RequestKind::kSlice) return judge_slice(job, now, keeping, ambiguous);
  const std::vector<Kind> kinds = kinds_for(job, false);
  std::array<std::int64_t, 5> least = {job.spec.request.npus,
                                       job.spec.request.npus * job.spec.request.memory_per_npu.count, 0, 1,
                                       job.spec.bandwidth_bps};
  for (std::size_t i = 0; i < least.size() && !kinds.empty(); ++i) {
    least[i] = std::numeric_limits<std::int64_t>::max();
    for (const Kind& kind : kinds) least[i] = std::min(least[i], charge_for(job, kind)[i]);
  }
  if (const std::optional<Verdict> limited =
          judge_limits(job, least, !kinds.empty(), !kinds_for(job, true).empty(), now, keeping, ambiguous)) {
    return *limited;
  }
  std::vector<Kind> allowed;
  for (const Kind& kind : kinds) {
    if (within_quota(job, kind)) allowed.push_back(kind);
  }
  if (allowed.empty()) return {Fate::kQuota, {}, {}};
  if (std::optional<std::vector<NpuIndex>> placed = place(job, allowed, keeping))
    return {Fate::kStart, *placed, {}};
  const bool fits_otherwise = place(job, allowed, {}).has_value();
  if (is_overdue(job, now)) {
    for (const Kind& kind : allowed) keeping.of.emplace_back(kind, job.spec.request.npus);
  }
  return {fits_otherwise ? Fate::kNpusKept : Fate::kBusy, {}, {}};
}

std::vector<JobStarted> Oracle::starts(std::int64_t now, bool& ambiguous) {
  std::vector<JobStarted> started;
  for (bool again = true; again;) {
    again = false;
    Keeping keeping;
    for (const std::uint64_t id : ranked(now)) {
      const Job& job = jobs.at(id);
      Verdict verdict = judge(job, now, keeping, ambiguous);
      if (verdict.fate != Fate::kStart) continue;
      started.push_back({JobId(id), job.attempt + 1, std::move(verdict.npus), std::move(verdict.slice)});
      apply(Decision(started.back()), now);
      again = true;
      break;
    }
  }
  return started;
}

std::map<std::uint64_t, Oracle::Verdict> Oracle::verdicts(std::int64_t now, bool& ambiguous) const {
  std::map<std::uint64_t, Verdict> all;
  Keeping keeping;
  for (const std::uint64_t id : ranked(now)) all[id] = judge(jobs.at(id), now, keeping, ambiguous);
  return all;
}

}  // namespace tangram::testing
